/**
 * Runs the public conformance suite of the protocol against the gateway, at every revision, without
 * and with the suite's own test tools: `npm run conformance`. Arguments are passed to the suite unchanged;
 * CONFORMANCE_SCRIPT is the path of another version of the suite.
 */
import { callSuite, revisions, runSuite } from './run-suite.ts'

const more = process.argv.slice(2)
const runs =
  more.length > 0
    ? [() => callSuite(more, true)]
    : revisions.flatMap((revision) =>
        [false, true].map((withTools) => () => runSuite({ revision, withTools })),
      )
for (const run of runs) {
  const { code, output } = await run()
  process.stdout.write(output)
  if (code !== 0) process.exitCode = code ?? 1
}
