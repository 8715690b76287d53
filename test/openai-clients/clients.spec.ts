import { execFile } from 'node:child_process'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { makeFolder, projectFolder } from '../support/folder.ts'
import { startGateway } from '../support/gateway.ts'
import { installPackages } from '../support/install-packages.ts'
import { startOwnEndpoint } from '../support/own-endpoint.ts'
import { pixel } from '../support/pixel.ts'
import { expected, prompts, type CallName, type ImageProgram, type Program } from './calls.ts'
import { leanVendor, said } from './lean-vendor.ts'
import { testVendors, type TestHouse } from './vendors.ts'

const installTimeoutMs = 600_000
const recipeTimeoutMs = 60_000
const programs = pathToFileURL(join(import.meta.dirname, 'programs/')).href
const recipes = [
  'docs/recipes/ai-sdk.md',
  'docs/recipes/langchain.md',
  'docs/recipes/openai-agents.md',
]

describe('client libraries', () => {
  let modules: string
  before(async function () {
    this.timeout(installTimeoutMs)
    try {
      modules = await installPackages(join(import.meta.dirname, 'packages'), 'openai-clients')
    } catch (error) {
      // Without npm's registry the tests are left out, like tests whose program is missing.
      process.stderr.write(`${String(error)}\n`)
      this.skip()
    }
  })

  const rows = ['vercel-ai', 'langchain', 'openai-agents'].flatMap((name) =>
    (['chat', 'responses'] as const).flatMap((api) =>
      testVendors.map((vendor) => ({ name, api, vendor })),
    ),
  )
  for (const { name, api, vendor } of rows) {
    describe(`${name} over the API ${api}, with ${vendor.model}`, () => {
      let house: TestHouse
      let calls: ReturnType<Program['calls']>
      before(async () => {
        house = await vendor.start()
        const { calls: prepare } = await importProgram(name, modules)
        calls = prepare({
          baseURL: `${house.gateway.url}/v1`,
          apiKey: house.gateway.liveKey,
          model: vendor.model,
          api,
          picture: pixel.slice(pixel.indexOf(',') + 1),
          prompts,
        })
      })
      after(() => house?.stop())

      // The cast is safe, because the keys of `expected` are exactly the call names.
      for (const call of Object.keys(expected) as CallName[]) {
        it(`gets the result of ${call}`, async () => {
          expect(await calls[call]()).to.deep.equal(expected[call])
          if (call !== 'cancel') return
          const asked = house.upstream.requests.at(-1)!
          await asked.closed
          expect(asked.aborted).to.equal(true)
        })
      }
    })
  }

  for (const name of ['vercel-ai', 'openai-agents']) {
    for (const way of ['whole', 'streamed'] as const) {
      it(`${name} gets an image of the hosted tool, and asks about it; ${way}`, async () => {
        await using own = await startOwnEndpoint({ limits: { cache_ttl_seconds: 0 } })
        own.upstream.answer(leanVendor)
        const { images } = await importProgram<ImageProgram>(name, modules)
        const calls = images({
          baseURL: `${own.gateway.url}/v1`,
          apiKey: own.gateway.liveKey,
          model: 'own/lean',
          imageModel: 'own/painter',
        })
        expect(await calls[way]()).to.deep.equal({
          image: pixel.slice(pixel.indexOf(',') + 1),
          text: said.drawn,
          next: said.picture,
        })
      })
    }
  }

  for (const path of recipes) {
    it(`print what ${path} shows`, async () => {
      const page = readFileSync(join(projectFolder, path), 'utf8')
      const printed = await runRecipe(blockOf(page, 'ts'), modules)
      expect(printed).to.equal(blockOf(page, 'text'))
    })
  }
})

/** Imports a program, and the libraries that it imports by name from the folder in which they are installed. */
async function importProgram<Imported = Program>(name: string, modules: string): Promise<Imported> {
  const parentURL = pathToFileURL(join(modules, '../program.js')).href
  const hooks = registerHooks({
    resolve: (specifier, context, next) => {
      const isOwn = context.parentURL?.startsWith(programs) === true && !specifier.startsWith('.')
      return next(specifier, isOwn ? { ...context, parentURL } : context)
    },
  })
  try {
    return (await import(`${programs}${name}.ts`)) as Imported
  } finally {
    hooks.deregister()
  }
}

function blockOf(page: string, language: string): string {
  return new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'ms').exec(page)![1]!
}

/** Runs a program in its own folder, as a reader of the page does. Returns what it prints. */
async function runRecipe(text: string, modules: string): Promise<string> {
  const folder = makeFolder()
  const gateway = await startGateway()
  try {
    symlinkSync(modules, join(folder.path, 'node_modules'))
    writeFileSync(join(folder.path, 'recipe.mts'), text)
    const { stdout } = await promisify(execFile)(process.execPath, ['recipe.mts'], {
      cwd: folder.path,
      env: { OPENAI_BASE_URL: `${gateway.url}/v1`, OPENAI_API_KEY: gateway.testKey },
      timeout: recipeTimeoutMs,
    })
    return stdout
  } finally {
    await gateway.stop()
    folder.remove()
  }
}
