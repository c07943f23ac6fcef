"""N tasks of asyncio that sleep until an instant in the last of S seconds, each its own, and a queue to the main
one. PROGRAM N S prints the sum of their numbers."""

import asyncio
import random
import sys


async def sleeper(number, instant, awake):
    await asyncio.sleep(instant - asyncio.get_running_loop().time())
    awake.put_nowait(number)


async def main(n, seconds):
    generator = random.Random(1)
    last_second = asyncio.get_running_loop().time() + seconds - 1
    awake = asyncio.Queue()
    tasks = [asyncio.create_task(sleeper(i, last_second + generator.random(), awake)) for i in range(n)]
    print(sum([await awake.get() for _ in tasks]))


asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
