(* The background jobs: promises. Those that sleep wait for a place in a pool of Lwt's, those that compute for one of
   the domains. *)

open Lwt.Syntax
open Settings

type answer = { value : int; place : int; begun : int; ended : int }

let times_alone = 5
let kind = one_of "kind" "" [ "sleep"; "cpu"; "noop" ]
let count = whole "jobs" ~most:1_000_000 1
let workers = whole "workers" ~most:1024 1
let rounds = whole "rounds" ~default:"1000000" 1
let duration = float_of_int (whole "duration_ms" ~default:"1000" ~most:3_600_000 0) /. 1e3
let seed = whole "seed" ~default:"0" ~most:4_294_967_295 0
let trace = flag "trace"
let hold = flag "hold"
let repeats = whole "repeats" ~default:"1" ~most:3000 1
let rec advance x rounds = if rounds = 0 then x else advance (next x) (rounds - 1)

(* Starts a job by its number; and ends what the jobs needed. *)
let waiting () =
  let made = ref (-1) in
  let places = Lwt_pool.create workers (fun () -> incr made; Lwt.return !made) in
  let job i =
    Lwt_pool.use places (fun place ->
        let begun = clock () in
        let* () = if kind = "sleep" then Lwt_unix.sleep duration else Lwt.return_unit in
        let value = next (first seed i) in
        Lwt.return { value; place; begun; ended = clock () })
  in
  (job, ignore)

(* More domains than cores are of no use. *)
let computing () =
  let pool = Pool.create (min workers cores) in
  let job i =
    Pool.run pool (fun () ->
        let begun = clock () in
        let value = advance (first seed i) rounds in
        { value; place = (Domain.self () :> int); begun; ended = clock () })
  in
  (job, fun () -> Pool.close pool)

let order = ref 0
let beats = ref 0

(* All jobs, once. *)
let in_background hold =
  let start = clock () in
  let job, close = if kind = "cpu" then computing () else waiting () in
  let jobs = List.init count job in
  let submitted = clock () in
  phase "submit" (submitted - start);
  let heart = Heart.start submitted in
  let* () =
    if not hold then Lwt.return_unit
    else (
      report "::await name=submitted";
      Lwt.map ignore (Lwt_io.read_line_opt Lwt_io.stdin))
  in
  let* answers = Lwt.all jobs in
  let stop = clock () in
  phase "makespan" (stop - start);
  Heart.stop heart stop;
  close ();
  phase "gap" heart.gap;
  beats := !beats + heart.beats;
  let take { value; place; begun; ended } =
    order := ((31 * !order) + value) mod modulus;
    if trace then report "::span unit=%d begin=%d end=%d" place (begun - start) (ended - start)
  in
  List.iter take answers;
  Lwt.return_unit

let () =
  (* Each begins with the answer of the one before. *)
  let last = ref (first seed 0) in
  if kind = "cpu" then
    for _ = 1 to times_alone do
      let start = clock () in
      last := advance !last rounds;
      phase "alone" (clock () - start)
    done;
  let rec again i =
    if i > repeats then Lwt.return_unit
    else
      let* () = in_background (hold && i = 1) in
      again (i + 1)
  in
  Lwt_main.run (again 1);
  report "::result answers=%d order=%d beats=%d alone=%d" (repeats * count) !order !beats !last
