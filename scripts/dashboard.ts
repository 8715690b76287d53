/**
 * Builds the dashboard where what it is made from has changed since: `npm start` and `npm test` begin
 * with it. Without Vite, which an installation for production leaves out, what is built already stays.
 */
import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const sources = ['dashboard/{index.html,*.ts,*.json,src/**/*}', 'generated/client-types.ts']
const packages = ['vite', 'preact', '@preact/signals', 'openapi-fetch']
const mark = join(root, 'dashboard/dist/built-from')

if (isInstalled('vite')) {
  const digest = digestOfSources()
  const isBuilt = existsSync(mark) && readFileSync(mark, 'utf8') === digest
  if (!isBuilt) {
    const { build } = await import('vite')
    await build({ configFile: join(root, 'dashboard/vite.config.ts'), logLevel: 'warn' })
    writeFileSync(mark, digest)
  }
}

function isInstalled(name: string): boolean {
  return existsSync(join(root, 'node_modules', name, 'package.json'))
}

function digestOfSources(): string {
  const hash = createHash('sha256')
  for (const name of sources.flatMap((pattern) => globSync(pattern, { cwd: root })).toSorted()) {
    const path = join(root, name)
    // Folders are among what a pattern finds.
    if (/\.\w+$/.test(name)) hash.update(`${name}\n`).update(readFileSync(path))
  }
  for (const name of packages) {
    const { version } = JSON.parse(
      readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8'),
    ) as { version: string }
    hash.update(`${name} ${version}\n`)
  }
  return hash.digest('hex')
}
