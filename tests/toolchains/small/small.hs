-- SPDX-License-Identifier: GPL-2.0-or-later
module Small (every) where
area :: Int -> Int -> Int
area side scale = side * scale * side
{-# NOINLINE area #-}
every :: Int -> Int
every n = area n 3 + area 3 n
