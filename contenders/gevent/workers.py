"""A pool of processes that ends with the program, for the batch and the background jobs."""

import multiprocessing
import os
import threading
from concurrent.futures import ProcessPoolExecutor


def start(count):
    return ProcessPoolExecutor(
        count, mp_context=multiprocessing.get_context("fork"), initializer=end_with_the_program
    )


def end_with_the_program():
    """A worker's beginning. Nobody else tells it when the program is killed."""
    threading.Thread(target=wait_for_the_end, daemon=True).start()


def wait_for_the_end():
    multiprocessing.parent_process().join()
    os._exit(1)


def shut_down(pool):
    """When the pool has done all."""
    processes = multiprocessing.active_children()
    pool.shutdown()
    for process in processes:
        process.close()  # PyPy would keep its descriptors until the garbage is collected.


def kill():
    """In the middle of what they do."""
    processes = multiprocessing.active_children()
    for process in processes:
        process.kill()
    for process in processes:
        process.join()
