(* The fibonacci service: a promise for each connection; the loop computes. With several cores, a process for each. *)

open Lwt.Syntax
open Settings

let longest = 100 (* bytes of a line, its newline included *)

let rec fib n = if n <= 2 then 1 else fib (n - 1) + fib (n - 2)

let answer line =
  match int_of_string_opt line with
  | Some n when String.for_all is_digit line && 1 <= n && n <= 90 -> string_of_int (fib n) ^ "\n"
  | _ -> "error: n must be a whole number from 1 to 90\n"

(* Answers one client's requests until it closes. *)
let converse input output =
  let rec loop before =
    let* more = Lwt_io.read ~count:4096 input in
    match List.rev (String.split_on_char '\n' (before ^ more)) with
    | _ when more = "" -> Lwt.return_unit
    | rest :: lines ->
        let is_long line = String.length line >= longest in
        let rec respond = function
          | [] -> Lwt.return_true
          | line :: _ when is_long line -> Lwt.return_false
          | line :: others ->
              let* () = Lwt_io.write output (answer line) in
              respond others
        in
        let* is_fine = respond (List.rev lines) in
        if is_fine && not (is_long rest) then
          let* () = Lwt_io.flush output in
          loop rest
        else Lwt_io.write output (Printf.sprintf "error: a line may have %d bytes\n" longest)
    | [] -> assert false
  in
  loop ""

let serve client =
  Lwt_unix.setsockopt client TCP_NODELAY true;
  let close () = Lwt.return_unit in
  let input = Lwt_io.of_fd ~close ~mode:Input client and output = Lwt_io.of_fd ~close ~mode:Output client in
  Lwt.finalize
    (fun () ->
      let* () = converse input output in
      Lwt_io.flush output)
    (fun () -> Lwt_unix.close client)

let rec accept socket =
  let* clients, failure = Lwt_unix.accept_n socket 100 in
  List.iter (fun (client, _) -> Lwt.async (fun () -> serve client)) clients;
  let* () =
    match failure with
    (* No descriptors are left: others must end first. *)
    | Some (Unix.Unix_error ((EMFILE | ENFILE), _, _)) -> Lwt_unix.sleep 0.1
    | _ -> Lwt.return_unit
  in
  accept socket

let () =
  Sys.set_signal Sys.sigpipe Signal_ignore;
  Service.forgive ();
  let socket = Service.listen () in
  (* The end of this pipe tells the others that the first has gone. *)
  let gone, here = Unix.pipe ~cloexec:true () in
  let rec fork left =
    if left = 0 then `First []
    else
      match Lwt_unix.fork () with
      | 0 -> `Other
      | pid -> ( match fork (left - 1) with `First pids -> `First (pid :: pids) | `Other -> `Other)
  in
  match fork (cores - 1) with
  | `Other ->
      Unix.close here;
      Lwt.async (fun () -> accept socket);
      Lwt_main.run (Lwt_unix.wait_read (Lwt_unix.of_unix_file_descr gone))
  | `First others ->
      Lwt.async (fun () -> accept socket);
      Service.ready socket;
      Lwt_main.run (Service.until_told ());
      (* One that computes would not see the end of the pipe. *)
      List.iter (fun pid -> Unix.kill pid Sys.sigkill) others
