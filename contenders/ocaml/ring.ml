(* The ring on promises: a loop for each unit, which waits for its inbox. *)

open Lwt.Syntax
open Settings

(* What is between two neighbours. An [Lwt_mvar], Lwt's own, has one place. *)
type inbox = { put : int -> unit Lwt.t; take : unit -> int Lwt.t }

let own () =
  let box = Lwt_mvar.create_empty () in
  { put = Lwt_mvar.put box; take = (fun () -> Lwt_mvar.take box) }

let unbounded () =
  let stream, push = Lwt_stream.create () in
  { put = (fun value -> push (Some value); Lwt.return_unit); take = (fun () -> Lwt_stream.next stream) }

let bounded places () =
  let stream, push = Lwt_stream.create_bounded places in
  { put = push#push; take = (fun () -> Lwt_stream.next stream) }

(* Message 0, which ends the ring, as unit i receives it: the units before have added their numbers. *)
let terminator i = i * (i - 1) / 2

let line mark name i number =
  Printf.printf "%c Proc: %s, Seq#: %d, Msg#: %d ..\n" mark name i number

(* Unit i, one of 1 … N-1. It runs up to its first receive when it is called. *)
let relay trace i inbox outbox =
  let last = terminator i in
  let name = if trace then Printf.sprintf "unit-%d" i else "" in
  let rec loop () =
    let* value = inbox.take () in
    if trace then
      if value > last then line ':' name i (value - last)
      else Printf.printf "* Proc: %s, Seq#: %d, Msg#: terminate!\n" name i;
    let* () = outbox.put (value + i) in
    if value = last then Lwt.return_unit else loop ()
  in
  loop ()

(* Unit N's result over all values, including those of earlier rings. *)
let checksum = ref 0
let order = ref 0

(* Unit N: the time when the last message came. *)
let receive trace n inbox arrived =
  let last = terminator n in
  let name = if trace then Printf.sprintf "unit-%d" n else "" in
  let rec loop () =
    let* value = inbox.take () in
    checksum := !checksum + value;
    order := ((31 * !order) + value) mod modulus;
    if trace then
      if value > last then line '>' name n (value - last)
      else Printf.printf "@ Proc: %s, Seq#: %d, ring terminated.\n" name n;
    let* () = arrived () in
    if value = last then Lwt.return (clock ()) else loop ()
  in
  loop ()

let ring ~nodes ~messages ~queue ~token ~trace ~hold =
  let start = clock () in
  let first = queue () in
  let rec spawn i inbox units =
    if i = nodes then (inbox, units)
    else
      let outbox = queue () in
      spawn (i + 1) outbox (relay trace i inbox outbox :: units)
  in
  let inbox, units = spawn 1 first [] in
  let back = Lwt_mvar.create_empty () in
  let last = receive trace nodes inbox (if token then Lwt_mvar.put back else Lwt.return) in
  phase "spawn" (clock () - start);
  let* () =
    if not hold then Lwt.return_unit
    else (
      report "::await name=spawned";
      Lwt.map ignore (Lwt_io.read_line_opt Lwt_io.stdin))
  in
  let start = clock () in
  let rec feed r =
    if r < 0 then Lwt.return_unit
    else
      let* () = first.put r in
      let* () = if token then Lwt_mvar.take back else Lwt.return_unit in
      feed (r - 1)
  in
  let* () = feed (messages - 1) in
  let* stop = last in
  phase "relay" (stop - start);
  Lwt.join units

let () =
  let nodes = whole "nodes" 2 and messages = whole "messages" 1 in
  let queue =
    match one_of "capacity" "own" [ "own"; "1"; "30"; "1000"; "unbounded" ] with
    | "own" | "1" -> own
    | "unbounded" -> unbounded
    | places -> bounded (int_of_string places)
  in
  let token = one_of "mode" "pipelined" [ "pipelined"; "token" ] = "token" in
  let trace = flag "trace" and hold = flag "hold" in
  let repeats = whole "repeats" ~default:"1" ~most:3000 1 in
  let rec again i =
    if i > repeats then Lwt.return_unit
    else
      let* () = ring ~nodes ~messages ~queue ~token ~trace ~hold:(hold && i = 1) in
      again (i + 1)
  in
  Lwt_main.run (again 1);
  report "::result checksum=%d order=%d" !checksum !order
