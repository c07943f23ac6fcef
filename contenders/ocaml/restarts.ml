(* The restarts: a promise for each unit. One that an exception rejects tells the collector, which calls the unit's
   function anew. *)

open Lwt.Syntax
open Settings

exception Failed

type message = { number : int; fails : bool }
type event = Answer of { unit : int; handled : int; folded : int; born : int } | Gone of int

(* A unit. It runs up to its first message when it is called. *)
let serve unit inbox push =
  let born = clock () in
  let rec loop handled folded =
    let* { number; fails } = Lwt_stream.next inbox in
    if fails then raise Failed;
    let handled = handled + 1 and folded = ((31 * folded) + number) mod modulus in
    push (Some (Answer { unit; handled; folded; born }));
    loop handled folded
  in
  loop 0 0

(* How a message is sent to a new unit. *)
let start push unit =
  let inbox, send = Lwt_stream.create () in
  Lwt.on_failure (serve unit inbox push) (function Failed -> push (Some (Gone unit)) | other -> raise other);
  fun message -> send (Some message)

(* Times in nanoseconds, the last of which are not in use yet. *)
type times = { mutable count : int; all : int array }

let add times time =
  times.all.(times.count) <- time;
  times.count <- times.count + 1

(* The smallest that so many percent do not exceed; 0 where there is none. *)
let percentiles name times =
  let sorted = if times.count = 0 then [| 0 |] else Array.sub times.all 0 times.count in
  Array.sort Int.compare sorted;
  let at percent = sorted.(((Array.length sorted * percent) + 99) / 100 - 1) in
  Printf.sprintf "%s_p50_ns=%d %s_p99_ns=%d %s_max_ns=%d" name (at 50) name (at 99) name (at 100)

(* The collector's knowledge of a unit. [failed]: when the message was sent that made it fail, until it has answered. *)
type served = {
  mutable send : message -> unit;
  mutable number : int;
  mutable left : int;
  mutable folded : int;
  mutable sent : int;
  mutable failed : int option;
}

let () =
  let count = whole "units" ~most:100_000 1 and messages = whole "messages" ~most:1_000_000 2 in
  let below = modulus / whole "every" ~most:1_000_000 2 in
  let seed = whole "seed" ~default:"0" ~most:4_294_967_295 0 in
  let begun = clock () in
  let events, push = Lwt_stream.create () in
  let served unit =
    { send = start push unit; number = first seed unit; left = 0; folded = 0; sent = 0; failed = None }
  in
  let units = Array.init count served in
  phase "start" (clock () - begun);

  let times () = { count = 0; all = Array.make (count * messages) 0 } in
  let answer = times () and recovery = times () and calm = times () in
  let answers = ref 0 and failures = ref 0 and fresh = ref 0 in
  let send failing unit =
    unit.number <- next unit.number;
    unit.left <- unit.left - 1;
    let fails = failing && unit.number < below && unit.left > 0 && unit.failed = None in
    unit.sent <- clock ();
    unit.send { number = unit.number; fails }
  in
  let take others unit handled folded born =
    let now = clock () in
    (match unit.failed with
    | None -> add others (now - unit.sent)
    | Some failed ->
        if born >= failed then incr fresh;
        add recovery (now - failed);
        unit.failed <- None);
    incr answers;
    unit.folded <- ((31 * unit.folded) + folded + handled) mod modulus
  in
  (* [left]: units with messages left in this pass. *)
  let rec collect failing others left =
    if left = 0 then Lwt.return_unit
    else
      let* event = Lwt_stream.next events in
      match event with
      | Gone index ->
          let unit = units.(index) in
          incr failures;
          unit.failed <- Some unit.sent;
          unit.send <- start push index;
          send failing unit;
          collect failing others left
      | Answer { unit = index; handled; folded; born } ->
          let unit = units.(index) in
          take others unit handled folded born;
          if unit.left = 0 then collect failing others (left - 1)
          else (
            send failing unit;
            collect failing others left)
  in
  let pass name =
    let begun = clock () in
    let failing = name = "failing" in
    let others = if failing then answer else calm in
    others.count <- 0;
    Array.iter (fun unit -> unit.left <- messages) units;
    Array.iter (send failing) units;
    let* () = collect failing others count in
    phase name (clock () - begun);
    Lwt.return_unit
  in
  Lwt_main.run (Lwt_list.iter_s pass [ "warm"; "failing"; "calm" ]);
  report "::result answers=%d failures=%d fresh=%d order=%d %s %s %s" !answers !failures !fresh
    (Array.fold_left (fun order unit -> ((31 * order) + unit.folded) mod modulus) 0 units)
    (percentiles "answer" answer) (percentiles "recovery" recovery) (percentiles "calm" calm)
