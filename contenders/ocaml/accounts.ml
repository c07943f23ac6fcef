(* The accounts as promises on one thread: nothing else runs between two waits, so a transfer needs no lock. *)

open Lwt.Syntax
open Settings

let opening_balance = 1000

(* A unit reads the clock before and after one of so many transfers. *)
let timed = 16

type problem = { accounts : int; units : int; transfers : int; auditors : int; every : int; hot : int; seed : int }

let transfer balances source target amount =
  balances.(source) <- balances.(source) - amount;
  balances.(target) <- balances.(target) + amount

(* An auditor's observations. [first], [last]: how many transfers had been counted at its audits. *)
type auditor = {
  questions : unit Lwt.u option Lwt_stream.t;
  ask : unit Lwt.u option option -> unit;
  mutable audits : int;
  mutable wrong : int;
  mutable first : int;
  mutable last : int;
}

let auditor () =
  let questions, ask = Lwt_stream.create () in
  { questions; ask; audits = 0; wrong = 0; first = 0; last = 0 }

(* What units write down, those of the last repeat. *)
type books = { mutable counted : int; mutable finished : int; mutable transfer_ns : int list; mutable audit_ns : int list }

(* Adds up all accounts for each unit that asks, until there is none. *)
let rec audit balances books auditor =
  let* question = Lwt_stream.next auditor.questions in
  match question with
  | None -> Lwt.return_unit
  | Some answer ->
      let snapshot = Array.copy balances in
      if Array.fold_left ( + ) 0 snapshot <> Array.length snapshot * opening_balance then
        auditor.wrong <- auditor.wrong + 1;
      auditor.last <- books.counted;
      if auditor.audits = 0 then auditor.first <- books.counted;
      auditor.audits <- auditor.audits + 1;
      Lwt.wakeup_later answer ();
      audit balances books auditor

(* A unit makes its transfers. After every so many of them it waits for an audit. *)
let work problem balances books auditors unit =
  let x = ref (first problem.seed unit) in
  let draw () =
    x := next !x;
    !x
  in
  let rec go_on made =
    if made = problem.transfers then Lwt.return_unit
    else
      let drawn = draw () in
      let other = draw () mod problem.accounts in
      let source = if drawn / 1000 mod 100 < problem.hot then 0 else other in
      let target = draw () mod (problem.accounts - 1) in
      let target = if target >= source then target + 1 else target in
      let begun = if made mod timed = 0 then clock () else 0 in
      transfer balances source target (1 + (drawn mod 1000));
      if made mod timed = 0 then books.transfer_ns <- (clock () - begun) :: books.transfer_ns;
      let made = made + 1 in
      books.finished <- books.finished + 1;
      let* () =
        if made mod problem.every > 0 then Lwt.pause ()
        else (
          books.counted <- books.counted + problem.every;
          let begun = clock () in
          let answered, answer = Lwt.wait () in
          let turn = unit + (made / problem.every) - 1 in
          auditors.(turn mod problem.auditors).ask (Some (Some answer));
          let* () = answered in
          books.audit_ns <- (clock () - begun) :: books.audit_ns;
          Lwt.return_unit)
      in
      go_on made
  in
  go_on 0

(* The smallest times that so many percent do not exceed; 0 where there is none. *)
let percentiles name times =
  let sorted = if times = [] then [| 0 |] else Array.of_list times in
  Array.sort Int.compare sorted;
  let at percent = sorted.(((Array.length sorted * percent) + 99) / 100 - 1) in
  Printf.sprintf "%s_p50_ns=%d %s_p99_ns=%d %s_max_ns=%d" name (at 50) name (at 99) name (at 100)

let joined numbers = String.concat "," (List.map string_of_int (Array.to_list numbers))

let () =
  let problem =
    {
      accounts = whole "accounts" ~most:100_000 2;
      units = whole "units" ~most:10_000 1;
      transfers = whole "transfers" ~most:1_000_000 1;
      auditors = whole "auditors" ~most:1000 1;
      every = whole "every" ~most:1_000_000 1;
      hot = whole "hot" ~default:"0" ~most:100 0;
      seed = whole "seed" ~default:"0" ~most:4_294_967_295 0;
    }
  in
  let hold = flag "hold" and repeats = whole "repeats" ~default:"1" ~most:3000 1 in
  let folded = ref 0 and finished = ref 0 and audits = ref 0 and wrong = ref 0 in
  let once last =
    let begun = clock () in
    let balances = Array.make problem.accounts opening_balance in
    let begun =
      if hold && !finished = 0 then (
        report "::await name=opened";
        ignore (In_channel.input_line stdin);
        clock ())
      else begun
    in
    let books = { counted = 0; finished = 0; transfer_ns = []; audit_ns = [] } in
    let auditors = Array.init problem.auditors (fun _ -> auditor ()) in
    Lwt_main.run
      (let auditing = Array.to_list auditors |> List.map (audit balances books) in
       let* () = List.init problem.units (work problem balances books auditors) |> Lwt.join in
       Array.iter (fun auditor -> auditor.ask (Some None)) auditors;
       Lwt.join auditing);
    phase "transfer" (clock () - begun);
    Array.iter (fun b -> folded := ((31 * !folded) + (((b mod modulus) + modulus) mod modulus)) mod modulus) balances;
    finished := !finished + books.finished;
    Array.iter
      (fun auditor ->
        audits := !audits + auditor.audits;
        wrong := !wrong + auditor.wrong)
      auditors;
    if last then
      report "::result balances=%d transfers=%d audits=%d wrong=%d first=%s last=%s %s %s" !folded !finished !audits
        !wrong
        (joined (Array.map (fun auditor -> auditor.first) auditors))
        (joined (Array.map (fun auditor -> auditor.last) auditors))
        (percentiles "transfer" books.transfer_ns)
        (percentiles "audit" books.audit_ns)
  in
  for repeat = 1 to repeats do
    once (repeat = repeats)
  done
