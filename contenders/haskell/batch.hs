{-# LANGUAGE BangPatterns #-}
-- | The batch: a thread reads, P threads compute, the main thread writes; a bounded queue of STM on each side of the P.
module Main (main) where

import Control.Concurrent
import Control.Concurrent.STM
import Control.Exception
import Control.Monad
import Control.Monad.ST (ST, runST)
import qualified Data.ByteString.Char8 as B
import Data.Char (isDigit)
import qualified Data.IntMap.Strict as IntMap
import qualified Data.Vector.Algorithms.Intro as Intro
import qualified Data.Vector.Unboxed as V
import qualified Data.Vector.Unboxed.Mutable as M
import Data.Word (Word64)
import System.IO (Handle, IOMode (ReadMode), hFlush, stdout, withBinaryFile)

import Settings

data Case = Case { number, size, bytes :: !Int, vectors :: [B.ByteString] }

data Answer = Answer { caseOf :: !Case, product' :: !Int, computeNs :: !Word64, waitedNs :: !Word64 }

-- | What is wrong with the input.
newtype Wrong = Wrong String

instance Show Wrong where
  show (Wrong why) = why

instance Exception Wrong

-- | Cases that may be in progress, from their reading until their answers are written, and bytes of their text.
mostCases, mostBytes, largest, mostSize :: Int
mostCases = 4096
mostBytes = 16 * 1024 * 1024
largest = 100000
mostSize = 1000000

main :: IO ()
main = do
  settings <- readSettings
  capacity <- oneOf settings "capacity" ["own", "1", "100", "10000"]
  repeats <- wholeNumberOr settings "repeats" (1, 3000) 1
  cores <- useCores settings
  when (null (text settings "input")) (refuse settings "input" "the path of a file")
  let once = batch (text settings "input") cores (if capacity == "own" then 100 else read capacity)
  cases <- replicateM repeats once `catches`
    [Handler (\(Wrong why) -> giveUp 2 ("input: " ++ why)), Handler unreadable]
  report ("::result cases=" ++ show (sum cases))
 where
  unreadable :: IOException -> IO a
  unreadable _ = giveUp 2 "input: it cannot be read"

-- | All cases once; how many they were.
batch :: FilePath -> Int -> Int -> IO Int
batch path cores capacity = do
  start <- clock
  cases <- newTBQueueIO 100
  answers <- newTBQueueIO (fromIntegral capacity)
  ahead <- newTVarIO (0, 0)
  total <- newEmptyTMVarIO
  me <- myThreadId
  reader <- forkFinally (readCases path cores cases ahead) (either (throwTo me) (atomically . putTMVar total))
  workers <- replicateM cores (forkFinally (compute cases answers) (either (throwUnlessKilled me) pure))
  (count, written) <- writeAnswers answers ahead total `onException` killThread reader
  mapM_ killThread workers
  hFlush stdout
  end <- clock
  let phase name ns = report ("::phase name=" ++ name ++ " ns=" ++ show (ns :: Word64))
  (_, readNs, aheadNs) <- atomically (readTMVar total)
  phase "read" readNs
  phase "wait_ahead" aheadNs
  phase "compute" (computed written)
  phase "wait_full" (full written)
  phase "write" (writing written)
  phase "wait_empty" (empty' written)
  phase "work" (end - start)
  pure count
 where
  throwUnlessKilled me failure = case fromException failure of
    Just ThreadKilled -> pure ()
    _ -> throwTo me failure

-- | Puts all cases into a queue: how many, the time for it, and the time in which it waited for room.
readCases :: FilePath -> Int -> TBQueue Case -> TVar (Int, Int) -> IO (Int, Word64, Word64)
readCases path cores cases ahead = withBinaryFile path ReadMode $ \file -> do
  start <- clock
  rest <- newMVar B.empty
  count <- readNumber "the number of cases" file rest (10 ^ (17 :: Int))
  let loop i !waited
        | i > count = pure waited
        | otherwise = do
            next <- readCase file rest i
            before <- clock
            atomically $ do
              (inProgress, text') <- readTVar ahead
              -- One case always may.
              check (inProgress < mostCases && (inProgress <= cores || text' + bytes next <= mostBytes))
              writeTVar ahead (inProgress + 1, text' + bytes next)
            atomically (writeTBQueue cases next)
            after <- clock
            loop (i + 1) (waited + after - before)
  waited <- loop 1 0
  more <- readMore file rest
  when more (throwIO (Wrong ("it goes on after case " ++ show count ++ ", the last")))
  end <- clock
  pure (count, end - start - waited, waited)

readCase :: Handle -> MVar B.ByteString -> Int -> IO Case
readCase file rest i = do
  length' <- readNumber ("case " ++ show i ++ ": a size") file rest mostSize
  two <- replicateM 2 (readLine file rest (8 * length'))
  pure (Case i length' (sum (map B.length two)) two)

readNumber :: String -> Handle -> MVar B.ByteString -> Int -> IO Int
readNumber what file rest greatest = do
  line <- readLine file rest 18
  let value = read (B.unpack line)
  if not (B.null line) && B.all isDigit line && value <= greatest
    then pure value
    else throwIO (Wrong (what ++ " must be a whole number from 0 to " ++ show greatest))

-- | A line of so many bytes at most, without its newline.
readLine :: Handle -> MVar B.ByteString -> Int -> IO B.ByteString
readLine file rest longest = go []
 where
  go parts = do
    text' <- takeMVar rest
    let sofar = sum (map B.length parts)
    case B.elemIndex '\n' text' of
      Just end | sofar + end <= longest -> do
        putMVar rest (B.drop (end + 1) text')
        -- A copy, so that a case does not keep the text read with it.
        pure (B.copy (B.concat (reverse (B.take end text' : parts))))
      _ | sofar + B.length text' > longest -> throwIO (Wrong "a line is too long")
        | otherwise -> do
            putMVar rest B.empty
            more <- readMore file rest
            unless more (throwIO (Wrong "it ends in the middle of a line"))
            go (text' : parts)

-- | Whether there is more, which is then read.
readMore :: Handle -> MVar B.ByteString -> IO Bool
readMore file rest = do
  before <- takeMVar rest
  piece <- if B.null before then B.hGetSome file 65536 else pure before
  putMVar rest piece
  pure (not (B.null piece))

-- | One of P units.
compute :: TBQueue Case -> TBQueue Answer -> IO ()
compute cases answers = go 0
 where
  go waited = do
    next <- atomically (readTBQueue cases)
    start <- clock
    value <- either (throwIO . Wrong) pure (smallestProduct next) >>= evaluate
    end <- clock
    atomically (writeTBQueue answers (Answer next value (end - start) waited))
    after <- clock
    go (after - end)

smallestProduct :: Case -> Either String Int
smallestProduct one = case map (sortedNumbers (size one)) (vectors one) of
  [Just first, Just second] -> Right (V.sum (V.zipWith (*) first (V.reverse second)))
  _ -> Left
    ("case " ++ show (number one) ++ ": a vector must be " ++ show (size one) ++ " whole numbers from "
      ++ show (-largest) ++ " to " ++ show largest)

-- | So many numbers of a line, with one space between two.
sortedNumbers :: Int -> B.ByteString -> Maybe (V.Vector Int)
sortedNumbers count line = runST $ do
  vector <- M.new count
  isWhole <- readInto vector count line
  if isWhole then Just <$> (Intro.sort vector >> V.unsafeFreeze vector) else pure Nothing

readInto :: M.MVector s Int -> Int -> B.ByteString -> ST s Bool
readInto vector count = go 0
 where
  go !i line
    | i == count = pure (B.null line)
    | otherwise = case B.readInt line of
        Just (value, rest)
          | abs value <= largest && B.length line - B.length rest <= 8 && separated i rest -> do
              M.unsafeWrite vector i value
              go (i + 1) (B.drop 1 rest)
        _ -> pure False
  separated i rest = if i + 1 == count then B.null rest else not (B.null rest) && B.head rest == ' '

data Written = Written { computed, full, writing, empty' :: !Word64 }

-- | Writes all answers in the order of the cases.
writeAnswers :: TBQueue Answer -> TVar (Int, Int) -> TMVar (Int, Word64, Word64) -> IO (Int, Written)
writeAnswers answers ahead total = go 1 IntMap.empty (Written 0 0 0 0)
 where
  go next early !sums = do
    start <- clock
    -- An answer, or the number of cases where all of them have been written.
    event <- atomically $ (Right <$> readTBQueue answers) `orElse` do
      (count, _, _) <- readTMVar total
      check (next > count)
      pure (Left count)
    begin <- clock
    case event of
      Left count -> pure (count, sums { empty' = empty' sums + begin - start })
      Right answer -> do
        (next', early') <- flush next (IntMap.insert (number (caseOf answer)) answer early)
        end <- clock
        go next' early' sums
          { computed = computed sums + computeNs answer
          , full = full sums + waitedNs answer
          , writing = writing sums + end - begin
          , empty' = empty' sums + begin - start
          }
  flush next early = case IntMap.lookup next early of
    Nothing -> pure (next, early)
    Just answer -> do
      B.putStr (B.pack ("Case #" ++ show next ++ ": " ++ show (product' answer) ++ "\n")) `catch` unwritable
      atomically (modifyTVar' ahead (\(cases, text') -> (cases - 1, text' - bytes (caseOf answer))))
      flush (next + 1) (IntMap.delete next early)
  unwritable :: IOException -> IO ()
  unwritable _ = giveUp 1 "cannot write to stdout"
