/**
 * Tests common client libraries with a gateway whose vendor sends minimal answers: `npm run clients`. Arguments
 * select programs by name. Exits with 1 when a call fails.
 */
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { installPackages } from '../support/install-packages.ts'
import { startOwnEndpoint } from '../support/own-endpoint.ts'
import { pixel } from '../support/pixel.ts'
import { printTable } from '../sdk-matrix/table.ts'
import { expected, prompts, type CallName, type Program } from './calls.ts'
import { leanVendor } from './lean-vendor.ts'

const programs = ['vercel-ai', 'langchain', 'openai-agents']
const chosen = process.argv.slice(2)
const unknown = chosen.filter((name) => !programs.includes(name))
if (unknown.length > 0) {
  throw new Error(`Unknown program ${unknown.join(', ')}. Choose from ${programs.join(', ')}.`)
}
const callTimeoutMs = 20_000
const folder = pathToFileURL(join(import.meta.dirname, 'programs/')).href
const modules = await installPackages(join(import.meta.dirname, 'packages'), 'openai-clients')
const beside = pathToFileURL(join(modules, '../program.js')).href

// Resolves libraries that programs import by name, because they are installed in another folder.
registerHooks({
  resolve: (specifier, context, next) => {
    const isOwn = context.parentURL?.startsWith(folder) === true && !specifier.startsWith('.')
    return next(specifier, isOwn ? { ...context, parentURL: beside } : context)
  },
})

await using own = await startOwnEndpoint({ limits: { cache_ttl_seconds: 0 } })
own.upstream.answer(leanVendor)
const asked = {
  baseURL: `${own.gateway.url}/v1`,
  apiKey: own.gateway.liveKey,
  model: 'own/lean',
  picture: pixel.slice(pixel.indexOf(',') + 1),
  prompts,
}
// The cast is safe, because the keys of `expected` are exactly the call names.
const names = Object.keys(expected) as CallName[]

async function complaintAbout(call: () => Promise<unknown>, wanted: unknown): Promise<string> {
  const late = AbortSignal.timeout(callTimeoutMs)
  const tooLate = new Promise<never>((_resolve, reject) => {
    late.addEventListener('abort', () => reject(new Error('The call timed out.')))
  })
  try {
    const given = await Promise.race([call(), tooLate])
    return isDeepStrictEqual(given, wanted) ? '' : `Unexpected result: ${JSON.stringify(given)}.`
  } catch (error) {
    return String(error).slice(0, 300)
  }
}

const rows: (string | null)[][] = []
const complaints: string[] = []
for (const name of programs.filter((one) => chosen.length === 0 || chosen.includes(one))) {
  const { calls } = (await import(`${folder}${name}.ts`)) as Program
  const made = calls(asked)
  const row: string[] = []
  for (const call of names) {
    const complaint = await complaintAbout(made[call], expected[call])
    row.push(complaint)
    if (complaint !== '') complaints.push(`${name}, ${call}: ${complaint}`)
  }
  rows.push([name, ...row])
}
printTable(['client', ...names], rows)
for (const complaint of complaints) process.stdout.write(`${complaint}\n`)
process.exitCode = complaints.length === 0 ? 0 : 1
