import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const caches = join(import.meta.dirname, '../../node_modules/.cache')
const installTimeoutMs = 600_000

/**
 * Installs the packages in `source/package-lock.json`, which a command needs beyond devDependencies, unless
 * installed. Returns their folder. Rejects when npm fails or times out.
 */
export async function installPackages(source: string, command: string): Promise<string> {
  const cache = join(caches, command)
  const modules = join(cache, 'node_modules')
  const lock = readFileSync(join(source, 'package-lock.json'))
  const wanted = createHash('sha256').update(lock).digest('hex')
  const stamp = join(cache, 'installed')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return modules
  rmSync(stamp, { force: true })
  cpSync(source, cache, { recursive: true })
  process.stderr.write(`Installing the packages of ${command} into ${cache} ...\n`)
  await npm(cache, ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'])
  writeFileSync(stamp, wanted)
  return modules
}

function npm(cwd: string, words: string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const options = { cwd, timeout: installTimeoutMs, maxBuffer: 16 * 1024 * 1024 }
    execFile('npm', words, options, (error, stdout, stderr) => {
      if (error === null) return resolve()
      return reject(new Error(`npm ${words.join(' ')} failed.\n${stdout}${stderr}`))
    })
  })
}
