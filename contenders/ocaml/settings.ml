(* Reads the arguments, [key=value] each, and writes protocol lines. A value that cannot be used ends the program with
   status 2 and one line; unknown keys are ignored. *)

let given =
  let pair argument =
    match String.index_opt argument '=' with
    | Some at -> (String.sub argument 0 at, String.sub argument (at + 1) (String.length argument - at - 1))
    | None -> (argument, "")
  in
  Array.to_seq Sys.argv |> Seq.drop 1 |> Seq.map pair |> Hashtbl.of_seq

let give_up status why =
  Printf.eprintf "%s: %s\n%!" (Filename.basename Sys.argv.(0)) why;
  exit status

let refuse key wanted text = give_up 2 (Printf.sprintf "%s must be %s, not %S" key wanted text)
let text key default = Option.value (Hashtbl.find_opt given key) ~default
let is_digit c = '0' <= c && c <= '9'

let whole ?(default = "") ?(most = 1_000_000_000) key least =
  let written = text key default in
  match int_of_string_opt written with
  | Some number when String.for_all is_digit written && least <= number && number <= most -> number
  | _ -> refuse key (Printf.sprintf "a whole number from %d to %d" least most) written

let one_of key default choices =
  let written = text key default in
  if List.mem written choices then written else refuse key (String.concat " or " choices) written

let flag key = one_of key "0" [ "0"; "1" ] = "1"
let cores = whole "cores" ~default:"1" ~most:1024 1

(* Nanoseconds of the monotonic clock, which all domains share. *)
let clock () = Int64.to_int (Mtime_clock.elapsed_ns ())
let report format = Printf.ksprintf (fun line -> print_string line; print_char '\n'; flush stdout) format
let phase name ns = report "::phase name=%s ns=%d" name ns
let modulus = 2147483647

(* The pseudo-random numbers of jobs and sleepers. *)
let next x = 48271 * x mod modulus
let first seed i = 1 + ((seed + i) mod (modulus - 1))
