// A line on stdin, or its end, which is as good.
export function lineFromStdin() {
  return new Promise((resolve) => {
    process.stdin.once('data', resolve).once('end', resolve).once('error', resolve);
  }).then(() => process.stdin.destroy());
}
