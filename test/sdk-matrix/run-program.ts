/**
 * Runs the program of a client as a bundler would: `node run-program.ts <folder> <address> <key>`. Prints the
 * result of each call as JSON.
 */
import { existsSync, readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { setTimeout as sleep } from 'node:timers/promises'
import ts from 'typescript'
import { pixel } from '../support/pixel.ts'

type Program = {
  calls: (url: string, key: string, picture: string) => Record<string, () => Promise<unknown>>
}

const [folder = '', address = '', key = ''] = process.argv.slice(2)
const callTimeoutMs = 20_000

// Generated code imports files without extensions, and has enums, which type stripping does not support.
registerHooks({
  resolve: (specifier, context, next) => {
    const { parentURL = '' } = context
    if (!specifier.startsWith('.') || !parentURL.endsWith('.ts')) return next(specifier, context)
    const path = fileURLToPath(new URL(specifier, parentURL))
    const names = [path.replace(/\.js$/, '.ts'), `${path}.ts`, join(path, 'index.ts')]
    const found = names.find((one) => one.endsWith('.ts') && existsSync(one))
    return next(found === undefined ? specifier : pathToFileURL(found).href, context)
  },
  load: (url, context, next) => {
    if (!url.startsWith(pathToFileURL(folder).href) || !url.endsWith('.ts')) {
      return next(url, context)
    }
    const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023 }
    const { outputText } = ts.transpileModule(readFileSync(fileURLToPath(url), 'utf8'), {
      compilerOptions,
    })
    return { format: 'module', source: outputText, shortCircuit: true }
  },
})

// The cast is safe, because the program was compiled against this type.
const program = (await import(pathToFileURL(join(folder, 'program.ts')).href)) as Program
const given: Record<string, { value?: unknown; error?: string }> = {}
for (const [name, call] of Object.entries(program.calls(address, key, pixel))) {
  const late = sleep(callTimeoutMs, undefined, { ref: false }).then(() => {
    throw new Error('The call timed out.')
  })
  given[name] = await Promise.race([call(), late]).then(
    (value) => ({ value }),
    (error: unknown) => ({ error: error instanceof Error ? error.stack! : String(error) }),
  )
}
process.stdout.write(JSON.stringify(given))
