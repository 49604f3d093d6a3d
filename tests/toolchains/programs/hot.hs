-- SPDX-License-Identifier: GPL-2.0-or-later
module Main (main) where
import qualified Data.Map.Strict as Map
import Data.List (foldl')
import System.Environment (getArgs)

{-# NOINLINE area #-}
area :: Double -> Double -> Double
area side scale = foldl' (\a i -> a + side * scale * fromIntegral i) 0 [1 .. 1000 :: Int]

{-# NOINLINE counts #-}
counts :: Int -> Int
counts n = Map.size (foldl' (\m i -> Map.insertWith (+) (show (i * 7919 `mod` 101)) i m) Map.empty [1 .. n])

main :: IO ()
main = do
  arguments <- getArgs
  let rounds = if null arguments then 5000 else 10000 * read (head arguments) :: Int
  print (foldl' (\a i -> a + area (fromIntegral i + 1.5) 3 + fromIntegral (counts (200 + i `mod` 3))) 0 [1 .. rounds])
