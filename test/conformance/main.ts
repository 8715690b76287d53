/**
 * Runs the public conformance suite of the protocol against the gateway, at every revision, without
 * the suite's own test tools and with them: `npm run conformance`. What follows goes to the suite as
 * it is; CONFORMANCE_SCRIPT names another version of it.
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
