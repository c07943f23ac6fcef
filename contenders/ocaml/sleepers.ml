(* The sleepers: a promise for each, which waits for a timer, and a stream to the one that collects. *)

open Lwt.Syntax
open Settings

let second = 1_000_000_000
let reports = 10

(* The loop's time may be behind, so a timer may be early. *)
let rec sleeper number instant push =
  let late = clock () - instant in
  if late >= 0 then (
    push (Some (number, late));
    Lwt.return_unit)
  else
    let* () = Lwt_unix.sleep (float_of_int (-late) /. 1e9) in
    sleeper number instant push

(* Takes all numbers, and reports after each tenth of them; the numbers and how late each was. *)
let collect tasks begun stream =
  let numbers = Array.make tasks 0 and lateness = Array.make tasks 0 in
  let parts = min reports tasks in
  let share count = count * parts / tasks in
  let rec take count =
    if count = tasks then Lwt.return_unit
    else
      let* number, late = Lwt_stream.next stream in
      numbers.(count) <- number;
      lateness.(count) <- late;
      if share (count + 1) > share count then phase "wake" (clock () - begun);
      take (count + 1)
  in
  let* () = take 0 in
  Lwt.return (numbers, lateness)

let () =
  let tasks = whole "tasks" ~most:1_000_000 1 and seconds = whole "seconds" ~most:3600 2 in
  let seed = whole "seed" ~default:"0" ~most:4_294_967_295 0 in
  let hold = flag "hold" in
  let begun = clock () in
  let stream, push = Lwt_stream.create () in
  let number = ref (first seed 0) in
  for _ = 1 to tasks do
    number := next !number;
    let instant = begun + ((seconds - 1) * second) + (!number * second / modulus) in
    (* It runs up to its sleep when it is called. *)
    Lwt.async (fun () -> sleeper !number instant push)
  done;
  phase "start" (clock () - begun);
  let numbers, lateness =
    Lwt_main.run
      (let* () =
         if not hold then Lwt.return_unit
         else (
           report "::await name=started";
           Lwt.map ignore (Lwt_io.read_line_opt Lwt_io.stdin))
       in
       collect tasks begun stream)
  in
  Array.sort Int.compare numbers;
  Array.sort Int.compare lateness;
  let order = Array.fold_left (fun order x -> ((31 * order) + x) mod modulus) 0 numbers in
  (* The smallest lateness that so many percent do not exceed. *)
  let percentile percent = lateness.(((tasks * percent) + 99) / 100 - 1) in
  report "::result sum=%d order=%d late_p50_ns=%d late_p99_ns=%d late_max_ns=%d"
    (Array.fold_left ( + ) 0 numbers)
    order (percentile 50) (percentile 99) (percentile 100)
