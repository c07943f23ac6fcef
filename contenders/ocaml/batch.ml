(* The batch: the main domain reads, [cores] domains compute, a thread of the main domain writes. *)

open Settings

exception Wrong of string

type case = { number : int; size : int; first : string; second : string }
type answer = { case : case; product : (int, string) result; compute_ns : int; wait_ns : int }

let largest = 100_000
let most_size = 1_000_000

(* Cases that may be in progress, from their reading until their answers are written, and bytes of their text. *)
let most_cases = 4096
let most_bytes = 16 * 1024 * 1024

let wrong format = Printf.ksprintf (fun why -> raise (Wrong why)) format

(* --- a case --- *)

let numbers { number; size; _ } line =
  let bad () = wrong "case %d: a line must have %d whole numbers from %d to %d" number size (-largest) largest in
  let length = String.length line in
  let at = ref 0 in
  let value index =
    if index > 0 then if !at < length && line.[!at] = ' ' then incr at else bad ();
    let is_negative = !at < length && line.[!at] = '-' in
    if is_negative then incr at;
    let start = !at and value = ref 0 in
    while !at < length && is_digit (String.unsafe_get line !at) do
      value := (10 * !value) + Char.code (String.unsafe_get line !at) - 48;
      incr at
    done;
    if !at = start || !at - start > 9 || !value > largest then bad ();
    if is_negative then - !value else !value
  in
  let values = Array.init size value in
  if !at < length then bad ();
  Array.stable_sort Int.compare values;
  values

let product case =
  let up = numbers case case.first and down = numbers case case.second in
  let sum = ref 0 in
  Array.iteri (fun i x -> sum := !sum + (x * down.(case.size - 1 - i))) up;
  !sum

(* --- those that are in progress --- *)

type ahead = { lock : Mutex.t; written : Condition.t; mutable cases : int; mutable bytes : int }

let bytes_of case = String.length case.first + String.length case.second

let enter ahead case =
  Mutex.protect ahead.lock (fun () ->
      let is_full () = ahead.cases >= most_cases || (ahead.cases > cores && ahead.bytes + bytes_of case > most_bytes) in
      while is_full () do
        Condition.wait ahead.written ahead.lock
      done;
      ahead.cases <- ahead.cases + 1;
      ahead.bytes <- ahead.bytes + bytes_of case)

let leave ahead case =
  Mutex.protect ahead.lock (fun () ->
      ahead.cases <- ahead.cases - 1;
      ahead.bytes <- ahead.bytes - bytes_of case;
      Condition.signal ahead.written)

(* --- reading --- *)

let line input longest =
  match In_channel.input_line input with
  | Some text when String.length text <= longest -> text
  | Some _ -> wrong "a line is too long"
  | None -> wrong "it ends in the middle"

let number input what most =
  let text = line input 18 in
  match int_of_string_opt text with
  | Some value when String.for_all is_digit text && value <= most -> value
  | _ -> wrong "%s must be a whole number from 0 to %d" what most

let check_end input =
  let length = In_channel.length input in
  if length = 0L then wrong "it is empty";
  In_channel.seek input (Int64.pred length);
  if In_channel.input_char input <> Some '\n' then wrong "it ends in the middle of a line";
  In_channel.seek input 0L

(* Hands all cases over: how many, and the times of reading and of waiting. *)
let read path hand_over =
  In_channel.with_open_bin path (fun input ->
      let start = clock () and waited = ref 0 in
      check_end input;
      let count = number input "the number of cases" max_int in
      for i = 1 to count do
        let size = number input (Printf.sprintf "case %d: the size" i) most_size in
        let first = line input (8 * size) in
        let second = line input (8 * size) in
        let before = clock () in
        hand_over { number = i; size; first; second };
        waited := !waited + clock () - before
      done;
      if In_channel.input_char input <> None then wrong "it goes on after case %d, the last" count;
      (count, clock () - start - !waited, !waited))

(* --- computing and writing --- *)

let rec compute cases answers waited =
  match Channel.take cases with
  | None -> ()
  | Some case ->
      let start = clock () in
      let product = try Ok (product case) with Wrong why -> Error why in
      let stop = clock () in
      Channel.put answers (Some { case; product; compute_ns = stop - start; wait_ns = waited });
      compute cases answers (clock () - stop)

type times = { mutable compute : int; mutable write : int; mutable full : int; mutable empty : int }

(* Writes the answers in the order of their cases. *)
let write answers ahead times =
  let early = Hashtbl.create 64 in
  let rec in_order next =
    match Hashtbl.find_opt early next with
    | None -> next
    | Some { case; product = Ok product; _ } ->
        Printf.printf "Case #%d: %d\n" next product;
        Hashtbl.remove early next;
        leave ahead case;
        in_order (next + 1)
    | Some { product = Error why; _ } -> give_up 2 ("input: " ^ why)
  in
  let rec loop next =
    let start = clock () in
    match Channel.take answers with
    | None -> flush stdout
    | Some answer ->
        let taken = clock () in
        times.empty <- times.empty + taken - start;
        times.compute <- times.compute + answer.compute_ns;
        times.full <- times.full + answer.wait_ns;
        Hashtbl.replace early answer.case.number answer;
        let next = in_order next in
        times.write <- times.write + clock () - taken;
        loop next
  in
  loop 1

(* All cases once; how many they were. *)
let batch path capacity =
  let start = clock () in
  let cases = Channel.create 100 and answers = Channel.create capacity in
  let ahead = { lock = Mutex.create (); written = Condition.create (); cases = 0; bytes = 0 } in
  let times = { compute = 0; write = 0; full = 0; empty = 0 } in
  let writer = Thread.create (fun () -> write answers ahead times) () in
  let workers = List.init cores (fun _ -> Domain.spawn (fun () -> compute cases answers 0)) in
  let hand_over case =
    enter ahead case;
    Channel.put cases (Some case)
  in
  let count, read_ns, ahead_ns = read path hand_over in
  List.iter (fun _ -> Channel.put cases None) workers;
  List.iter Domain.join workers;
  Channel.put answers None;
  Thread.join writer;
  let work = clock () - start in
  phase "read" read_ns;
  phase "wait_ahead" ahead_ns;
  phase "compute" times.compute;
  phase "wait_full" times.full;
  phase "write" times.write;
  phase "wait_empty" times.empty;
  phase "work" work;
  count

let () =
  let capacity =
    match one_of "capacity" "own" [ "own"; "1"; "100"; "10000"; "unbounded" ] with
    | "own" -> 100
    | "unbounded" -> max_int
    | places -> int_of_string places
  in
  let repeats = whole "repeats" ~default:"1" ~most:3000 1 in
  let path = text "input" "" in
  if path = "" then refuse "input" "the path of a file" "";
  let all = ref 0 in
  (try
     for _ = 1 to repeats do
       all := !all + batch path capacity
     done
   with
  | Wrong why -> give_up 2 ("input: " ^ why)
  | Sys_error why -> give_up 2 ("input: it cannot be read: " ^ why));
  report "::result cases=%d" !all
