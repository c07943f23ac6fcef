-- | The restarts: a thread of the runtime for each unit. `forkFinally` hands over the exception that ended one, which
-- tells the collector, and that forks another.
module Main (main) where

import Control.Concurrent
import Control.Exception
import Control.Monad
import Data.IORef
import Data.Int (Int64)
import Data.List (foldl', sort)
import qualified Data.IntMap.Strict as IntMap

import Settings

data Failure = Failure deriving (Show)

instance Exception Failure

-- | A unit's next message.
data Message = Message { number :: !Int64, fails :: !Bool }

-- | How many numbers a unit handled since it began, and their fold; or the end of a unit.
data Event = Answer !Int !Int64 !Int64 !Int64 | Ended !Int

-- | The collector's knowledge of a unit. `failed`: when the message was sent that made it fail, until it has answered
-- since.
data Book = Book
  { inbox :: !(MVar Message), x :: !Int64, left :: !Int, folds :: !Int64, sent :: !Int64, failed :: !(Maybe Int64) }

data Books = Books
  { units :: !(IntMap.IntMap Book), open :: !Int, answers, failures, fresh :: !Int64
  , answerNs, recoveryNs, calmNs :: [Int64] }

modulus, factor :: Int64
modulus = 2147483647
factor = 48271

main :: IO ()
main = runInUnboundThread $ do
  settings <- readSettings
  count <- wholeNumber settings "units" (1, 100000)
  messages <- wholeNumber settings "messages" (2, 1000000)
  every <- wholeNumber settings "every" (2, 1000000)
  seed <- wholeNumberOr settings "seed" (0, 4294967295) 0
  _ <- useCores settings
  begin <- now
  events <- newChan
  started <- forM [0 .. count - 1] $ \unit -> do
    own <- start unit events
    pure (unit, Book own (1 + fromIntegral (seed + unit) `rem` (modulus - 1)) 0 0 0 Nothing)
  phase "start" begin
  books <- newIORef (Books (IntMap.fromDistinctAscList started) 0 0 0 0 [] [] [])
  forM_ ["warm", "failing", "calm"] $ \name -> do
    passBegin <- now
    pass events messages (if name == "failing" then modulus `div` fromIntegral every else 0) books
    phase name passBegin
  readIORef books >>= reportResult

-- | Where the new unit takes its messages.
start :: Int -> Chan Event -> IO (MVar Message)
start unit events = do
  own <- newEmptyMVar
  _ <- forkFinally (serve unit own events) (either ended pure)
  pure own
 where
  -- The end of the program ends units as well.
  ended error' = when (isFailure error') (writeChan events (Ended unit))
  isFailure error' = case fromException error' of
    Just Failure -> True
    Nothing -> False

serve :: Int -> MVar Message -> Chan Event -> IO ()
serve unit own events = now >>= \born -> go born 0 0
 where
  go born handled folded = do
    message <- takeMVar own
    when (fails message) (throwIO Failure)
    let next = (31 * folded + number message) `rem` modulus
    writeChan events $! Answer unit (handled + 1) next born
    go born (handled + 1) next

-- | All messages of a pass: those below `failingBelow` make their units fail.
pass :: Chan Event -> Int -> Int64 -> IORef Books -> IO ()
pass events messages failingBelow ref = do
  modifyIORef' ref $ \books -> books
    { units = IntMap.map (\unit -> unit { left = messages }) (units books), open = IntMap.size (units books)
    , calmNs = if isFailing then calmNs books else [] }
  books <- readIORef ref
  forM_ (IntMap.toList (units books)) (uncurry send)
  loop
 where
  isFailing = failingBelow > 0
  loop = do
    books <- readIORef ref
    when (open books > 0) (readChan events >>= take' books >> loop)

  take' books (Ended unit) = do
    own <- start unit events
    writeIORef ref $! books { failures = failures books + 1 }
    let book = units books IntMap.! unit
    send unit book { inbox = own, failed = Just (sent book) }
  take' books (Answer unit handled folded born) = do
    came <- now
    let book = units books IntMap.! unit
        next = book { failed = Nothing, folds = (31 * folds book + folded + handled) `rem` modulus }
        taken = (time came book born books) { answers = answers books + 1 }
    if left book > 0
      then writeIORef ref taken >> send unit next
      else writeIORef ref $! taken { open = open books - 1, units = IntMap.insert unit next (units books) }

  time came book born books = case failed book of
    Just since -> books
      { fresh = fresh books + (if born >= since then 1 else 0), recoveryNs = strict (came - since) (recoveryNs books) }
    Nothing
      | isFailing -> books { answerNs = strict (came - sent book) (answerNs books) }
      | otherwise -> books { calmNs = strict (came - sent book) (calmNs books) }
  strict value values = value `seq` (value : values)

  -- Sends the unit its next message.
  send unit book = do
    let next = factor * x book `rem` modulus
        isLast = left book == 1
        doesFail = next < failingBelow && not isLast && failed book == Nothing
    at <- now
    putMVar (inbox book) $! Message next doesFail
    modifyIORef' ref $ \books -> books
      { units = IntMap.insert unit book { x = next, left = left book - 1, sent = at } (units books) }

reportResult :: Books -> IO ()
reportResult books = report (unwords
  [ "::result", "answers=" ++ show (answers books), "failures=" ++ show (failures books)
  , "fresh=" ++ show (fresh books), "order=" ++ show order, percentiles "answer" (answerNs books)
  , percentiles "recovery" (recoveryNs books), percentiles "calm" (calmNs books) ])
 where
  order = foldl' (\h book -> (31 * h + folds book) `rem` modulus) 0 (IntMap.elems (units books))

-- | The smallest times that so many percent do not exceed; 0 where there is none.
percentiles :: String -> [Int64] -> String
percentiles name times = unwords [at "p50" 50, at "p99" 99, at "max" 100]
 where
  sorted = if null times then [0] else sort times
  count = length sorted
  at level percent =
    name ++ "_" ++ level ++ "_ns=" ++ show (sorted !! ((count * percent + 99) `div` 100 - 1))

phase :: String -> Int64 -> IO ()
phase name begin = do
  end <- now
  report ("::phase name=" ++ name ++ " ns=" ++ show (end - begin))

now :: IO Int64
now = fromIntegral <$> clock
