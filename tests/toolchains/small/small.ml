(* SPDX-License-Identifier: GPL-2.0-or-later *)
let[@inline never] area side scale = side * scale * side
let[@inline] twice n = n * 2 + n / 8
let every n = area n 3 + twice n
