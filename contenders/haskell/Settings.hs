-- | The arguments, key=value each. A value that cannot be used ends the program with status 2 and one line; unknown keys
-- are ignored.
module Settings
  ( Settings, readSettings, text, wholeNumber, wholeNumberOr, address, oneOf, needed, flag, refuse, giveUp, report, clock, most
  , useCores, holdFor
  ) where

import Control.Concurrent (setNumCapabilities)
import Control.Exception (IOException, catch)
import Control.Monad (void)
import Data.Char (isDigit)
import Data.List (intercalate)
import qualified Data.Map.Strict as Map
import Data.Word (Word64, Word8)
import GHC.Clock (getMonotonicTimeNSec)
import System.Environment (getArgs)
import System.Exit (ExitCode (ExitFailure))
import System.IO (BufferMode (BlockBuffering), hFlush, hPutStrLn, hSetBuffering, stderr, stdout)
import System.Posix.Process (exitImmediately)

type Settings = Map.Map String String

most :: Int
most = 1000000000

readSettings :: IO Settings
readSettings = do
  hSetBuffering stdout (BlockBuffering Nothing)
  Map.fromList . map pair <$> getArgs
 where
  pair word = let (key, rest) = break (== '=') word in (key, drop 1 rest)

text :: Settings -> String -> String
text settings key = Map.findWithDefault "" key settings

-- | The value of a key that must be there.
wholeNumber :: Settings -> String -> (Int, Int) -> IO Int
wholeNumber settings key (least, greatest)
  | isNumber, number >= least, number <= greatest = pure number
  | otherwise = refuse settings key ("a whole number from " ++ show least ++ " to " ++ show greatest)
 where
  value = text settings key
  isNumber = not (null value) && length value <= 18 && all isDigit value
  number = read value

wholeNumberOr :: Settings -> String -> (Int, Int) -> Int -> IO Int
wholeNumberOr settings key range otherwise'
  | Map.member key settings = wholeNumber settings key range
  | otherwise = pure otherwise'

-- | The four numbers of an IPv4 address; the loopback's where none is given.
address :: Settings -> String -> IO (Word8, Word8, Word8, Word8)
address settings key
  | not (Map.member key settings) = pure (127, 0, 0, 1)
  | otherwise = case mapM byte (parts (text settings key)) of
      Just [a, b, c, d] -> pure (a, b, c, d)
      _ -> refuse settings key "an IPv4 address"
 where
  parts value = case break (== '.') value of
    (part, '.' : rest) -> part : parts rest
    (part, _) -> [part]
  byte part
    | null part || length part > 3 || not (all isDigit part) || read part > (255 :: Int) = Nothing
    | otherwise = Just (read part)

-- | The first choice is the default.
oneOf :: Settings -> String -> [String] -> IO String
oneOf settings key choices
  | Map.member key settings = needed settings key choices
  | otherwise = pure (head choices)

needed :: Settings -> String -> [String] -> IO String
needed settings key choices
  | text settings key `elem` choices = pure (text settings key)
  | otherwise = refuse settings key (intercalate " or " choices)

flag :: Settings -> String -> IO Bool
flag settings key = (== "1") <$> oneOf settings key ["0", "1"]

refuse :: Settings -> String -> String -> IO a
refuse settings key wanted =
  giveUp 2 (key ++ " must be " ++ wanted ++ ", not " ++ show (take 40 (text settings key)))

-- | Ends the program at once, with one line.
giveUp :: Int -> String -> IO a
giveUp status why = do
  hPutStrLn stderr why
  exitImmediately (ExitFailure status)
  giveUp status why

-- | Writes a protocol line at once.
report :: String -> IO ()
report line = (putStrLn line >> hFlush stdout) `catch` unwritable
 where
  unwritable :: IOException -> IO ()
  unwritable _ = giveUp 1 "cannot write to stdout"

-- | Nanoseconds of the monotonic clock.
clock :: IO Word64
clock = getMonotonicTimeNSec

-- | As many threads of the kernel run Haskell at one time.
useCores :: Settings -> IO Int
useCores settings = do
  cores <- wholeNumberOr settings "cores" (1, 1024) 1
  setNumCapabilities cores
  pure cores

-- | Waits for a line on stdin; its end is as good.
holdFor :: String -> IO ()
holdFor name = do
  report ("::await name=" ++ name)
  void getLine `catch` ended
 where
  ended :: IOException -> IO ()
  ended _ = pure ()
