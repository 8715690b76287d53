import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { forgetDatabase } from './each-store.ts'

/** The root of this repository. */
export const projectFolder = join(import.meta.dirname, '../..')

/** An empty folder; call `remove` after the test. */
export type TemporaryFolder = { path: string; remove(): void }

export function makeFolder(): TemporaryFolder {
  const path = mkdtempSync(join(tmpdir(), 'gateway-test-'))
  return {
    path,
    remove: () => {
      forgetDatabase(path)
      rmSync(path, { recursive: true, force: true })
    },
  }
}
