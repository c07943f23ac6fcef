-- | The sleepers: a thread of the runtime for each, and a channel to the main one, which collects.
module Main (main) where

import Control.Concurrent
import Control.Monad
import Data.Int (Int64)
import Data.List (foldl', sort)

import Settings

-- | A task hands over its number and its lateness.
data Wake = Wake { number, lateNs :: !Int64 }

modulus, factor, secondNs, mostReports :: Int64
modulus = 2147483647
factor = 48271
secondNs = 1000000000
mostReports = 10

main :: IO ()
main = runInUnboundThread $ do
  settings <- readSettings
  tasks <- wholeNumber settings "tasks" (1, 1000000)
  seconds <- wholeNumber settings "seconds" (2, 3600)
  seed <- wholeNumberOr settings "seed" (0, 4294967295) 0
  hold <- flag settings "hold"
  _ <- useCores settings
  begin <- now
  started <- newChan
  numbers <- newChan
  let lastSecond = begin + (fromIntegral seconds - 1) * secondNs
  startAll tasks (1 + fromIntegral seed `rem` (modulus - 1)) lastSecond started numbers
  replicateM_ tasks (readChan started)
  asleep <- now
  report ("::phase name=start ns=" ++ show (asleep - begin))
  when hold (holdFor "started")
  wakes <- forM [1 .. fromIntegral tasks] (collect begin (fromIntegral tasks) numbers)
  reportResult tasks (sort (map number wakes)) (sort (map lateNs wakes))

startAll :: Int -> Int64 -> Int64 -> Chan () -> Chan Wake -> IO ()
startAll 0 _ _ _ _ = pure ()
startAll left x lastSecond started numbers = do
  let drawn = factor * x `rem` modulus
      instant = lastSecond + drawn * secondNs `div` modulus
  _ <- drawn `seq` instant `seq` forkIO (sleeper drawn instant started numbers)
  startAll (left - 1) drawn lastSecond started numbers

sleeper :: Int64 -> Int64 -> Chan () -> Chan Wake -> IO ()
sleeper drawn instant started numbers = do
  writeChan started ()
  late <- sleepUntil instant
  writeChan numbers $! Wake drawn late

-- | How late it woke. A delay is in whole microseconds.
sleepUntil :: Int64 -> IO Int64
sleepUntil instant = do
  late <- subtract instant <$> now
  if late >= 0
    then pure late
    else threadDelay (fromIntegral ((999 - late) `div` 1000)) >> sleepUntil instant

-- | The next number, the one with this count. Reports after each tenth.
collect :: Int64 -> Int64 -> Chan Wake -> Int64 -> IO Wake
collect begin tasks numbers count = do
  wake <- readChan numbers
  let reports = min mostReports tasks
  when (count * reports `div` tasks > (count - 1) * reports `div` tasks) $ do
    there <- now
    report ("::phase name=wake ns=" ++ show (there - begin))
  pure wake

reportResult :: Int -> [Int64] -> [Int64] -> IO ()
reportResult tasks numbers late = report (unwords
  [ "::result", "sum=" ++ show (foldl' (+) 0 numbers), "order=" ++ show order
  , "late_p50_ns=" ++ percentile 50, "late_p99_ns=" ++ percentile 99, "late_max_ns=" ++ percentile 100 ])
 where
  order = foldl' (\h x -> (31 * h + x) `rem` modulus) 0 numbers
  -- The smallest lateness that so many percent do not exceed.
  percentile percent = show (late !! ((tasks * percent + 99) `div` 100 - 1))

now :: IO Int64
now = fromIntegral <$> clock
