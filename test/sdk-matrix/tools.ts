import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const source = join(import.meta.dirname, 'tools')
const cache = join(import.meta.dirname, '../../node_modules/.cache/sdk-matrix')
const installTimeoutMs = 600_000

/**
 * Installs what the matrix needs beyond devDependencies, as `tools/package-lock.json` has it, unless
 * it is there. Gives the folder of the packages. Rejects when npm fails or takes too long.
 */
export async function installTools(): Promise<string> {
  const modules = join(cache, 'node_modules')
  const lock = readFileSync(join(source, 'package-lock.json'))
  const wanted = createHash('sha256').update(lock).digest('hex')
  const stamp = join(cache, 'installed')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return modules
  rmSync(stamp, { force: true })
  cpSync(source, cache, { recursive: true })
  process.stderr.write(`Installing the generators into ${cache} ...\n`)
  await npm(['ci', '--ignore-scripts', '--no-audit', '--no-fund'])
  writeFileSync(stamp, wanted)
  return modules
}

function npm(words: string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const options = { cwd: cache, timeout: installTimeoutMs, maxBuffer: 16 * 1024 * 1024 }
    execFile('npm', words, options, (error, stdout, stderr) => {
      if (error === null) return resolve()
      return reject(new Error(`npm ${words.join(' ')} failed.\n${stdout}${stderr}`))
    })
  })
}
