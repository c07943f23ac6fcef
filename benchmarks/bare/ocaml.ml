open Lwt.Syntax

let rec relay i messages inbox outbox =
  if messages = 0 then Lwt.return_unit
  else
    let* value = Lwt_mvar.take inbox in
    let* () = Lwt_mvar.put outbox (value + i) in
    relay i (messages - 1) inbox outbox

let rec receive messages inbox checksum order =
  if messages = 0 then Lwt.return (Mtime_clock.elapsed_ns (), checksum, order)
  else
    let* value = Lwt_mvar.take inbox in
    receive (messages - 1) inbox (checksum + value) (((31 * order) + value) mod 2147483647)

let rec feed r outbox =
  if r < 0 then Lwt.return_unit
  else
    let* () = Lwt_mvar.put outbox r in
    feed (r - 1) outbox

let ring n m =
  let boxes = Array.init n (fun _ -> Lwt_mvar.create_empty ()) in
  let units = List.init (n - 1) (fun i -> relay (i + 1) m boxes.(i) boxes.(i + 1)) in
  let last = receive m boxes.(n - 1) 0 0 in
  let start = Mtime_clock.elapsed_ns () in
  let* () = feed (m - 1) boxes.(0) in
  let* stop, checksum, _order = last in
  Printf.printf "%Ld %d\n" (Int64.sub stop start) checksum;
  Lwt.join units

let () = Lwt_main.run (ring (int_of_string Sys.argv.(1)) (int_of_string Sys.argv.(2)))
