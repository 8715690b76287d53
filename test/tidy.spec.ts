import { expect } from 'chai'
import ts from 'typescript'
import { vendors } from '../src/providers/index.ts'
import { bounds } from '../src/settings/bounds.ts'
import { contract } from './support/contract.ts'
import {
  circlesOf,
  filesImportedBy,
  importsOf,
  isLong,
  longFunctionsOf,
  looseExportsOf,
  nodesOf,
  poorNamesOf,
  readSource,
  type SourceFile,
} from './support/source-files.ts'
// Imported, so that this spec also checks the dashboard.
import './dashboard/house.ts'

const faces = ['v1', 'mcp', 'oauth', 'api', 'pages']
const callParts = ['providers', 'policy', 'accounts', 'catalog', 'pictures']
const parts = [...callParts, 'storage', 'telemetry', 'peers']
const ground = ['core', 'bytes', 'generated']

/** The parts that each part may import (ARCHITECTURE.md#layout), including type-only imports. */
const mayImport: Record<string, string[]> = {
  'main.ts': ['process', 'settings'],
  process: ['assemble.ts', 'settings', ...parts, 'core'],
  'command-line.ts': ['commands', 'settings', ...parts, 'core'],
  commands: ['connect', 'settings', ...parts, 'http', ...ground],
  // Simulates clients, which use only the gateway's URL.
  connect: [],
  'assemble.ts': ['assemble', 'settings', ...faces, 'http', ...parts, 'core', 'bytes'],
  assemble: ['settings', ...faces, 'http', ...parts, 'core', 'bytes'],
  // Imports providers, because each vendor defines the names of its variables.
  settings: ['catalog', 'providers', 'peers', ...ground],
  ...Object.fromEntries(faces.map((face) => [face, ['http', ...ground]])),
  // Imports only types of `accounts`, as the next test checks.
  api: ['accounts', 'http', ...ground],
  http: ground,
  core: ['bytes', 'generated'],
  bytes: [],
  ...Object.fromEntries(parts.map((part) => [part, ground])),
  peers: ground,
  policy: ['storage', 'peers', ...ground],
  accounts: ['storage', 'peers', ...ground],
  telemetry: ['peers', ...ground],
}
/** Packages that the core must not import. */
const outside = ['koa', '@koa/router', 'kysely', 'keyv', 'undici', 'sharp', 'pino', 'node:http']
/** Folders of `providers` that every vendor may import. Many vendors use OpenAI's protocol. */
const open = new Set(['transport', 'wire', 'openai-compatible'])
/** The only files that may use each of these members of `process`. */
const processMembers: Record<string, string[]> = {
  env: ['settings/config.ts'],
  argv: ['main.ts', 'command-line.ts'],
  stdout: ['main.ts', 'command-line.ts'],
  stderr: ['main.ts', 'command-line.ts', 'telemetry/log.ts'],
  exit: ['main.ts', 'command-line.ts'],
  exitCode: ['main.ts', 'command-line.ts'],
}
const schemaNames = new Set(Object.keys(contract.components.schemas))
const source = readSource('src/**/*.ts')
const everything = [...source, ...readSource('test/**/*.ts'), ...readSource('scripts/**/*.ts')]

describe('the source', () => {
  it('imports in one direction', () => {
    const wrong = source.flatMap((file) =>
      filesImportedBy(file)
        .filter((target) => !isAllowed(file.name, target))
        .map((target) => `${file.name} -> ${target}`),
    )
    expect(wrong).to.deep.equal([])
  })

  it('has an /api that knows the types of the accounts alone', () => {
    const wrong = source
      .filter(({ name }) => name.startsWith('src/api/'))
      .flatMap((file) =>
        valuesImportedBy(file)
          .filter((target) => target.startsWith('../accounts/'))
          .map((target) => `${file.name} -> ${target}`),
      )
    expect(wrong).to.deep.equal([])
  })

  it('has APIs of conversations that do not know each other', () => {
    const apis = ['responses', 'messages']
    const wrong = apis.flatMap((api) =>
      source
        .filter(({ name }) => name.startsWith(`src/v1/${api}/`))
        .flatMap((file) =>
          filesImportedBy(file)
            .filter((target) => apis.some((one) => one !== api && target.includes(`v1/${one}/`)))
            .map((target) => `${file.name} -> ${target}`),
        ),
    )
    expect(wrong).to.deep.equal([])
  })

  it('has no file that imports itself over others, types included', () => {
    expect(circlesOf(source)).to.deep.equal([])
  })

  it('has a core that knows no server, store, network or renderer', () => {
    const wrong = source
      .filter(({ name }) => name.startsWith('src/core/'))
      .flatMap((file) =>
        importsOf(file)
          .filter((target) => outside.some((o) => target === o || target.startsWith(`${o}/`)))
          .map((target) => `${file.name} -> ${target}`),
      )
    expect(wrong).to.deep.equal([])
  })

  it('names a vendor in its folder, in the API that it defined and in the list of vendors alone', () => {
    const own = new RegExp(
      `^src/(v1/messages/|providers/(index\\.ts$|(hosts|${vendors.map(({ id }) => id).join('|')})/))`,
    )
    const wrong = source
      .filter(({ name }) => !own.test(name))
      .flatMap((file) =>
        textsOf(file)
          .filter(namesVendor)
          .map((text) => `${file.name}: ${text}`),
      )
    expect(wrong).to.deep.equal([])
  })

  it('touches the process in one place alone', () => {
    const wrong = source.flatMap((file) =>
      processMembersIn(file)
        .filter((member) => processMembers[member]?.includes(file.name.slice(4)) === false)
        .map((member) => `${file.name}: process.${member}`),
    )
    expect(wrong).to.deep.equal([])
  })

  it('has no default export and no any', () => {
    expect(everything.flatMap(looseExportsOf)).to.deep.equal([])
  })

  it('has a part that takes each bound that tests lower', () => {
    const others = source.filter(({ name }) => name !== 'src/settings/bounds.ts')
    const isTaken = (name: string) => others.some(({ text }) => text.includes(name))
    expect(Object.keys(bounds).filter((name) => !isTaken(name))).to.deep.equal([])
  })

  it('has no file of more than 300 lines and no function of more than 70', () => {
    const files = everything.filter(isLong).map(({ name }) => name)
    const functions = source.flatMap(longFunctionsOf)
    expect([...files, ...functions]).to.deep.equal([])
  })

  it('has names that say what is in a file', () => {
    expect(poorNamesOf(everything.map(({ name }) => name))).to.deep.equal([])
  })

  it('names types of options after what they are options of', () => {
    const wrong = source
      .filter(({ text }) => {
        const names = [...text.matchAll(/^(?:export )?type (\w*Options)\b/gm)].map(
          ([, name]) => name,
        )
        const isLocal = !text.includes('\nexport type Options ')
        return names.includes('Options') && (names.length > 1 || !isLocal)
      })
      .map(({ name }) => name)
    expect(wrong).to.deep.equal([])
  })

  it('has one word for one thing', () => {
    // Budgets are of money, memory is held, and the answer of a vendor is forwarded verbatim.
    const words =
      /as (?:it|they) c[a]me|\b(?:type|class) (?:Hold|Budget|Peer)\b|^export (?:type|function|const) \w*(?:[Aa]sked|[Gg]iven|[Bb]egun|Said|Told)\b/m
    const wrong = source.filter(({ text }) => words.test(text)).map(({ name }) => name)
    expect(wrong).to.deep.equal([])
  })

  it('leaves nothing to be done later', () => {
    // Brackets prevent the pattern from matching its own text.
    const marks = /TO[D]O|FIX[M]E|XX[X]/
    const wrong = everything.filter(({ text }) => marks.test(text)).map(({ name }) => name)
    expect(wrong).to.deep.equal([])
  })
})

/** The part of the source that a file belongs to: its folder, or its name if it is at the top. */
function partOf(name: string): string {
  const [first = '', second = ''] = name.split('/')
  return first === 'generated' ? first : second
}

function isAllowed(from: string, to: string): boolean {
  const [part, target] = [partOf(from), partOf(to)]
  if (part === 'providers' && target === 'providers') return isAllowedProvider(from, to)
  return part === target || (mayImport[part] ?? []).includes(target)
}

/** Each vendor has a folder. `index.ts` and `vendor.ts` beside the folders belong to all vendors. */
function isAllowedProvider(from: string, to: string): boolean {
  const folder = (name: string) => (name.split('/').length > 3 ? name.split('/')[2]! : '')
  const [one, other] = [folder(from), folder(to)]
  if (one === '' || other === '' || one === other) return true
  if (one === 'transport') return false
  if (one === 'wire') return other === 'transport'
  return open.has(other)
}

/** Modules that a file imports other than with `import type`. */
function valuesImportedBy({ tree }: SourceFile): string[] {
  return tree.statements.flatMap((node) =>
    ts.isImportDeclaration(node) && node.importClause?.phaseModifier !== ts.SyntaxKind.TypeKeyword
      ? (node.moduleSpecifier as ts.StringLiteral).text
      : [],
  )
}

function processMembersIn({ tree }: SourceFile): string[] {
  return nodesOf(tree).flatMap((node) =>
    ts.isPropertyAccessExpression(node) && node.expression.getText() === 'process'
      ? node.name.text
      : [],
  )
}

/** Identifiers and texts of a file, including types, without comments and imports. */
function textsOf({ tree }: SourceFile): string[] {
  const nodes = tree.statements.filter((one) => !ts.isImportDeclaration(one)).flatMap(nodesOf)
  return nodes.flatMap((node) =>
    ts.isIdentifier(node) || ts.isStringLiteralLike(node) || ts.isTemplateLiteralToken(node)
      ? node.text
      : [],
  )
}

/** Whether a text names a vendor. Names of the contract and of OpenAI's protocol do not count. */
function namesVendor(text: string): boolean {
  if (schemaNames.has(text)) return false
  const words = text
    .replaceAll(/open-?ai-?compatible/gi, '')
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
  return vendors.some(
    ({ id, name }) => text.includes(name) || (!text.includes(' ') && words.includes(id)),
  )
}
