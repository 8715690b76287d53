import { execFile } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { makeFolder } from './folder.ts'

const root = join(import.meta.dirname, '../..')

/** A TypeScript project in its own folder, with the compiler and packages of this repository. */
export type Project = {
  path: string
  write(name: string, text: string): void
  /** Compiles, and returns the compiler's errors. */
  compile(): Promise<string[]>
  remove(): void
}

export function makeProject(): Project {
  const { path, remove } = makeFolder()
  symlinkSync(join(root, 'node_modules'), join(path, 'node_modules'))
  const write: Project['write'] = (name, text) => {
    const file = join(path, name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
  const options = { extends: join(root, 'tsconfig.json'), include: ['**/*.ts'] }
  write('tsconfig.json', JSON.stringify(options))
  // The compiler reads the module format, ES modules, from package.json.
  write('package.json', '{"type":"module"}')
  return { path, write, compile: () => compile(path), remove }
}

function compile(path: string): Promise<string[]> {
  const words = [join(root, 'node_modules/.bin/tsc'), '-p', path, '--pretty', 'false']
  return new Promise((resolve, reject) => {
    execFile(process.execPath, words, { cwd: path }, (_error, stdout, stderr) => {
      if (stderr !== '') return reject(new Error(stderr))
      return resolve(stdout.split('\n').filter((line) => line !== ''))
    })
  })
}
