(* SPDX-License-Identifier: GPL-2.0-or-later *)
let sum = ref 0
let[@inline never] innermost n = for i = 1 to n do sum := !sum lxor (i * 3) done
let[@inline never] rec deep d n = if d = 0 then innermost n else begin deep (d - 1) n; incr sum end
let[@inline never] words n =
  let t = Hashtbl.create 16 in
  for i = 1 to n do Hashtbl.replace t (string_of_int (i * 7919 mod 101)) i done;
  List.length (List.sort compare (Hashtbl.fold (fun k v l -> (k, v) :: l) t []))
let () =
  let ends = Sys.time () +. (if Array.length Sys.argv > 1 then float_of_string Sys.argv.(1) else 0.5) in
  while Sys.time () < ends do
    deep 5 100000;
    sum := !sum + words 500
  done;
  print_int !sum
