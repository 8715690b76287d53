/**
 * `npm run swagger-ui -- VERSION`: copies the files of Swagger UI that the gateway serves, and their licences,
 * to third-party/swagger-ui. They are in the repository because the npm package depends on a tracker
 * (docs/decisions.md#2026-11-22-swagger-ui-is-kept-here).
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const name = 'swagger-ui-dist'
const folder = join(import.meta.dirname, '../third-party/swagger-ui')
const files = [
  'LICENSE',
  'NOTICE',
  'swagger-ui-bundle.js',
  'swagger-ui-bundle.js.LICENSE.txt',
  'swagger-ui.css',
]

/** A package in the output of `npm pack --json`. */
type Packed = { version: string; filename: string; integrity: string }

function copyFiles(version: string): void {
  const scratch = mkdtempSync(join(tmpdir(), 'swagger-ui-'))
  try {
    const options = { cwd: scratch, encoding: 'utf8' } as const
    const output = execFileSync(
      'npm',
      ['pack', `${name}@${version}`, '--json', '--silent'],
      options,
    )
    const [packed] = JSON.parse(output) as [Packed]
    execFileSync('tar', ['-xzf', packed.filename], options)
    const { license } = JSON.parse(readFileSync(join(scratch, 'package/package.json'), 'utf8')) as {
      license: string
    }
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    for (const file of files) cpSync(join(scratch, 'package', file), join(folder, file))
    const sha256 = Object.fromEntries(files.map((file) => [file, digestOf(join(folder, file))]))
    const origin = { name, version: packed.version, license, integrity: packed.integrity, sha256 }
    writeFileSync(join(folder, 'origin.json'), `${JSON.stringify(origin, null, 2)}\n`)
  } finally {
    rmSync(scratch, { recursive: true })
  }
}

function digestOf(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex')
}

copyFiles(process.argv[2] ?? 'latest')
