/**
 * `npm run package [-- --pack-destination <folder>]`: writes the gateway as JavaScript to dist/, because Node runs
 * no TypeScript below node_modules, and packs it with the dashboard.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, globSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { buildDashboard } from './dashboard.ts'

const root = join(import.meta.dirname, '..')
const dist = join(root, 'dist')
/** Files that the program reads at run time. */
const resources = [
  'src/**/*.{js,json,css,svg,conf,ttf}',
  'src/**/LICENSE',
  'generated/**/*.{js,json,yaml}',
  'third-party/**/*',
  'dashboard/dist/**/*',
]

await writeProgram()
execFileSync('npm', ['pack', ...process.argv.slice(2)], { cwd: root, stdio: 'inherit' })

async function writeProgram(): Promise<void> {
  rmSync(dist, { recursive: true, force: true })
  const outcome = await buildDashboard()
  if (outcome !== undefined) process.stderr.write(`${outcome}\n`)
  const compiler = join(root, 'node_modules/.bin/tsc')
  execFileSync(compiler, ['-p', 'tsconfig.package.json'], { cwd: root, stdio: 'inherit' })
  for (const name of globSync(resources, { cwd: root })) {
    cpSync(join(root, name), join(dist, name), { recursive: true })
  }
}
