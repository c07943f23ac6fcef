(* The other work: the loop makes a beat 10 ms after the one before. *)

open Lwt.Syntax
open Settings

let beat_ns = 10_000_000

type t = { mutable beats : int; mutable gap : int; mutable last : int; mutable is_over : bool }

let look_back heart now =
  heart.gap <- max heart.gap (now - heart.last);
  heart.last <- now

let start now =
  let heart = { beats = 0; gap = 0; last = now; is_over = false } in
  let rec beat due =
    let* () = Lwt_unix.sleep (float_of_int (due - clock ()) /. 1e9) in
    let now = clock () in
    if heart.is_over then Lwt.return_unit
    else if now < due then beat due
    else (
      heart.beats <- heart.beats + 1;
      look_back heart now;
      beat (now + beat_ns))
  in
  Lwt.async (fun () -> beat (now + beat_ns));
  heart

(* The time since the last beat counts too. *)
let stop heart now =
  heart.is_over <- true;
  look_back heart now
