import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { parse } from 'yaml'
import { settings } from '../../generated/settings.ts'
import type { CatalogModel } from '../../src/core/model.ts'
import { ConfigError } from '../../src/settings/config.ts'
import { makeFolder, projectFolder, type TemporaryFolder } from '../support/folder.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { loadSettings } from '../support/load-settings.ts'

type FileSchema = { $id: string; properties: Record<string, { description?: string }> }

const firstLine = '# yaml-language-server: $schema=http://127.0.0.1:8080/schemas/gateway.json\n'
const names = new Set(settings.map(({ name }) => name.split('.')[0]!))

/** The files and examples of gateway.yaml in the documents, by place. */
function examples(): Map<string, string> {
  const read = (name: string) => readFileSync(join(projectFolder, name), 'utf8')
  const pages = globSync(['*.md', 'docs/**/*.md'], { cwd: projectFolder })
  const blocks = pages.flatMap((page) =>
    [...read(page).matchAll(/^( *)```yaml\n([\s\S]*?)^ *```$/gm)].map(
      ([, indent = '', text = ''], index) =>
        [`${page} ${index}`, text.replaceAll(RegExp(`^${indent}`, 'gm'), '')] as const,
    ),
  )
  const isOfGateway = (text: string) =>
    text.startsWith(firstLine) || Object.keys(parse(text) as object).every((key) => names.has(key))
  const found = blocks.filter(([, text]) => isOfGateway(text))
  return new Map([...found, ['deploy/gateway.yaml', read('deploy/gateway.yaml')]])
}

describe('the published schemas of files', () => {
  let gateway: TestGateway
  let folder: TemporaryFolder
  let file: FileSchema
  let isFile: ValidateFunction
  let isRow: ValidateFunction
  before(async () => {
    folder = makeFolder()
    gateway = await startGateway()
    const [served, row] = await Promise.all(['gateway', 'catalog-model'].map(schemaAt))
    file = served!
    // It refuses unknown keywords and formats.
    const ajv = new Ajv2020({ strictTypes: false, validateFormats: false, allErrors: true })
    ;[isFile, isRow] = [ajv.compile(file), ajv.compile(row!)]
  })
  after(async () => {
    await gateway.stop()
    folder.remove()
  })

  const schemaAt = async (name: string) => {
    const response = await gateway.fetch(`/schemas/${name}.json`, { key: null })
    expect(response.headers.get('access-control-allow-origin')).to.equal('*')
    return (await response.json()) as FileSchema
  }
  const complaints = (text: string) => {
    const fits = isFile(parse(text) ?? {})
    return fits
      ? []
      : isFile.errors!.map(({ instancePath, message }) => `${instancePath} ${message}`)
  }

  // Several workers need Redis.
  const load = (text: string) => () =>
    loadSettings(folder.path, { REDIS_URL: 'redis://127.0.0.1:1' }, text)

  it('have an id that is the same at each gateway', () => {
    expect(file.$id).to.equal('urn:model-access-gateway:schemas:gateway')
  })

  it('describe each setting', () => {
    expect(Object.keys(file.properties)).to.have.members([...names])
    for (const [name, { description }] of Object.entries(file.properties))
      if (name !== 'limits') expect(description, name).to.be.a('string').that.is.not.empty
  })

  const shown = examples()
  it('are named in each example of gateway.yaml', () => {
    expect([...shown].filter(([, text]) => !text.startsWith(firstLine))).to.deep.equal([])
    expect(shown.size).to.be.at.least(5)
  })

  for (const [place, text] of shown)
    it(`allow the example of ${place}`, () => expect(complaints(text)).to.deep.equal([]))

  const allowed = [
    '',
    'workers: 4',
    'workers: auto',
    'catalog: { gpt-5.4-mini: { pricing: { input_per_million_tokens: "0.5" }, successor: null } }',
    'catalog: { openai/a: { id: openai/a, capabilities: { vision: true }, context_window: 8000 } }',
    'catalog: { openai/a: { pricing: { per_image: [{ usd: 0.04 }], per_image_is_estimate: null } } }',
    'providers: [{ id: a, kind: openai-compatible, base_url: "http://127.0.0.1:1/v1", models: [a] }]',
  ]
  for (const text of allowed)
    it(`allow '${text}', as the gateway does`, () => {
      expect(complaints(text)).to.deep.equal([])
      expect(load(text)).not.to.throw()
    })

  const refused = [
    'wrokers: 4',
    'port: 70000',
    'workers: many',
    'base_url: gateway.example',
    'limits: { requests_per_minute: 0 }',
    'limits: { request_per_minute: 10 }',
    'providers: [{ id: A, kind: openai-compatible, base_url: "http://127.0.0.1:1/v1", models: [a] }]',
    'catalog: { gpt-5.4-mini: { price: 1 } }',
    'catalog: { gpt-5.4-mini: { pricing: { input_per_million: 1 } } }',
    'catalog: { gpt-5.4-mini: { pricing: { input_per_million_tokens: -1 } } }',
    'catalog: { gpt-5.4-mini: { status: gone } }',
  ]
  for (const text of refused)
    it(`refuse '${text}', as the gateway does`, () => {
      expect(complaints(text)).to.not.be.empty
      expect(load(text)).to.throw(ConfigError)
    })

  it('allow each row of the catalog, and nothing else in it', () => {
    const files = globSync('src/catalog/models/*.json', { cwd: projectFolder })
    const rows = files.flatMap((name) => {
      const text = readFileSync(join(projectFolder, name), 'utf8')
      return (JSON.parse(text) as { models: CatalogModel[] }).models
    })
    expect(rows.length).to.be.greaterThan(50)
    for (const row of rows) {
      expect(isRow(row), row.id).to.equal(true)
      expect(isRow({ ...row, price: 1 }), row.id).to.equal(false)
      const { upstream_model: _, ...without } = row
      expect(isRow(without), row.id).to.equal(false)
    }
  })
})
