import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type * as sources from '../../sdk/typescript/src/index.ts'
import { makeFolder, projectFolder, type TemporaryFolder } from './folder.ts'

/** The functions of the client. */
export type TypeScriptClient = typeof sources
type Packed = { filename: string; version: string; files: { path: string; size: number }[] }

export const clientSources = join(projectFolder, 'sdk/typescript')
const commandTimeoutMs = 120_000

/** Packs the TypeScript client as its page says, and installs it in the project of an empty folder. */
export async function installClient(): Promise<{
  folder: TemporaryFolder
  packed: Packed
  client: TypeScriptClient
}> {
  const folder = makeFolder()
  const npm = (...words: string[]) =>
    execFileSync('npm', words, {
      cwd: folder.path,
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'] },
      timeout: commandTimeoutMs,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  const [packed] = JSON.parse(npm('pack', '--json', clientSources)) as [Packed]
  writeFileSync(join(folder.path, 'package.json'), '{"type":"module"}')
  npm('install', '--offline', '--no-audit', '--no-fund', `./${packed.filename}`)
  mkdirSync(join(folder.path, 'node_modules/@types'))
  for (const types of ['node_modules/@types/node', 'node_modules/undici-types'])
    symlinkSync(join(projectFolder, types), join(folder.path, types))
  const entry = join(folder.path, 'node_modules/model-access-gateway-client/dist/index.js')
  return { folder, packed, client: (await import(pathToFileURL(entry).href)) as TypeScriptClient }
}
