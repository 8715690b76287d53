/**
 * Before `npm test`: installs the servers that the suite starts, where they are missing and this user
 * may install Debian's packages. It tells what it cannot install; the tests that need it fail then.
 */
import { spawnSync } from 'node:child_process'
import { missingServers, packages, pathOf } from './programs.ts'

const timeoutMs = 300_000

function run(words: readonly string[]): boolean {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const { status, stdout, stderr } = spawnSync('apt-get', words, {
    env,
    timeout: timeoutMs,
    encoding: 'utf8',
  })
  if (status !== 0) process.stderr.write(`${stdout ?? ''}${stderr ?? ''}`)
  return status === 0
}

const missing = missingServers().map((program) => packages[program])
if (missing.length > 0) {
  const command = `apt-get install ${missing.join(' ')}`
  const may = process.getuid?.() === 0 && pathOf('apt-get') !== undefined
  if (may) process.stderr.write(`Installing servers for the tests: ${command} ...\n`)
  const isDone =
    may &&
    run(['update', '-qq']) &&
    run(['install', '-y', '-qq', '--no-install-recommends', ...missing])
  if (!isDone) {
    process.stderr.write(
      `The tests need servers that are not installed. As root: ${command}\n` +
        'To run without the tests that need them: TEST_WITHOUT_SERVERS=1 npm test\n',
    )
  }
}
