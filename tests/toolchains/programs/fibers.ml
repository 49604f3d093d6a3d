(* SPDX-License-Identifier: GPL-2.0-or-later *)
open Effect
open Effect.Deep
type _ Effect.t += Yield : unit Effect.t
let sum = ref 0
let[@inline never] innermost n = for i = 1 to n do sum := !sum lxor (i * 3) done
let[@inline never] in_fiber () = for _ = 1 to 10 do innermost 200000; perform Yield done
let[@inline never] run () =
  match_with in_fiber ()
    { retc = Fun.id; exnc = raise;
      effc = (fun (type a) (e : a Effect.t) ->
        match e with Yield -> Some (fun (k : (a, _) continuation) -> continue k ()) | _ -> None) }
let () =
  let ends = Sys.time () +. (if Array.length Sys.argv > 1 then float_of_string Sys.argv.(1) else 0.5) in
  while Sys.time () < ends do run () done;
  print_int !sum
