import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import ts from 'typescript'
import { parse } from 'yaml'
import { readCatalogRows } from '../src/catalog/catalog.ts'
import { GatewayError, type ErrorCode } from '../src/core/error.ts'
import { settingsTable } from '../src/settings/settings-table.ts'
import { contract } from './support/contract.ts'

const root = join(import.meta.dirname, '..')
// This file is excluded, because its examples and patterns are not citations.
const self = 'test/documents.spec.ts'
/** The files that cite pages: the documents, code and configuration. */
const citing =
  '{*.{md,yaml,json},{docs,src,test,scripts,bin,dashboard/src}/**/*.{md,ts,tsx,cjs,css,js},deploy/**/{*.*,Caddyfile,Dockerfile}}'

describe('the documents', () => {
  it('have each page and section that is cited', () => {
    const wrong = read(citing).flatMap(({ name, text }) =>
      citationsIn(text)
        .filter((cited) => !isHeading(cited, name))
        .map((cited) => `${name}: ${cited}`),
    )
    expect(wrong).to.deep.equal([])
  })

  it('are cited by the anchors of their sections', () => {
    const wrong = read(citing).flatMap(({ name, text }) =>
      [...text.matchAll(/[\w/-]+\.md, [A-Z][^.);]*/g)].map(([cited]) => `${name}: ${cited}`),
    )
    expect(wrong).to.deep.equal([])
  })

  it('name no file that is not there', () => {
    const wrong = read('{*,{docs,src}/**/*}.md').flatMap(({ name, text }) =>
      [...text.matchAll(/`((?:src|test|scripts|docs|generated|[a-z0-9]+)\/[\w./-]+\.(?:ts|md))`/g)]
        .map(([, path = '']) => path)
        .filter((path) => !existsSync(join(root, path)) && !existsSync(join(root, 'src', path)))
        .map((path) => `${name}: ${path}`),
    )
    expect(wrong).to.deep.equal([])
  })
})

describe('the examples in comments', () => {
  const examples = read('{src,test,scripts}/**/*.ts').flatMap(({ name, text }) =>
    [...text.matchAll(/ \* @example\n((?: \*.*\n)+?) \*\/\nexport (?:async )?\w+ (\w+)/g)].map(
      ([, lines = '', documented = '']) => {
        return { name, documented, code: lines.replaceAll(/^ \* ?/gm, '') }
      },
    ),
  )

  it('are TypeScript that uses what they stand above', () => {
    expect(examples.length).to.be.greaterThan(15)
    for (const { name, documented, code } of examples) {
      const { diagnostics } = ts.transpileModule(code, { reportDiagnostics: true })
      expect(diagnostics, `${name}: ${code}`).to.be.empty
      expect(code, name).to.match(new RegExp(`\\b${documented}\\b`))
    }
  })
})

describe('the page on the architecture', () => {
  const page = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8')
  const [, types = ''] = /```ts\n([\s\S]*?)```/.exec(page)!
  const [, tree = ''] = /## The life of a request\n[\s\S]*?```\n([\s\S]*?)```/.exec(page)!

  it('walks through files that exist', () => {
    const names = [...tree.matchAll(/\b(?:http|core|accounts|mcp|v1)\/[a-z/-]+[a-z]/g)].map(
      ([n]) => n,
    )
    const wrong = names.filter((name) => !existsSync(join(root, `src/${name}.ts`)))
    expect(names.length).to.be.greaterThan(15)
    expect(wrong).to.deep.equal([])
  })

  it('leaves a request with the status of each code', () => {
    const exits = [...tree.matchAll(/(\d{3}) ([a-z]+_?[a-z_]*(?:, [a-z]+_[a-z_]*)*)/g)].flatMap(
      ([, status, codes = '']) => codes.split(', ').map((code) => `${status} ${code}`),
    )
    // A request that is too slow, and headers that are too large, have a status of their own.
    const own = ['408 timeout', '431 request_too_large', '200 with']
    const wrong = exits.filter((exit) => {
      const code = exit.slice(4) as ErrorCode
      return !own.includes(exit) && `${new GatewayError(code, '').status} ${code}` !== exit
    })
    expect(exits.length).to.be.greaterThan(40)
    expect(wrong).to.deep.equal([])
  })

  it('shows the types of the code', () => {
    const shown = types.split(/^\/\/ /m).slice(1)
    const wrong = shown.flatMap((type) => {
      const [name = '', ...lines] = type.trimEnd().split('\n')
      const text = readFileSync(join(root, 'src', name.slice(0, name.indexOf(':'))), 'utf8')
      const known = new Set(text.split('\n').map((line) => line.replace(/^export /, '')))
      return lines.filter((line) => line !== '  …' && !known.has(line))
    })
    expect(shown).to.have.length(6)
    expect(wrong).to.deep.equal([])
  })
})

describe('the page on security', () => {
  const page = readFileSync(join(root, 'SECURITY.md'), 'utf8')

  it('names settings and commands that there are', () => {
    const [, rows = ''] = /\n\| What is held[^\n]*\n([\s\S]*?)\n\n/.exec(page) ?? []
    const names = [...rows.matchAll(/`(\w+)`/g)].map(([, name = '']) => name)
    const settings = settingsTable()
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>
    }
    const commands = [...page.matchAll(/`npm run ([\w-]+)/g)].map(([, name = '']) => name)
    expect(names.length).to.be.greaterThan(10)
    expect(names.filter((name) => !settings.includes(`\`limits.${name}\``))).to.deep.equal([])
    expect(commands).to.include.members(['attack', 'licences', 'sbom'])
    expect(commands.filter((name) => !(name in scripts))).to.deep.equal([])
  })
})

describe('the page on behaviour', () => {
  it('names each error code of the contract', () => {
    const page = readFileSync(join(root, 'docs/behaviour.md'), 'utf8')
    const { ErrorCode: codes } = contract.components.schemas
    const names = (codes as { enum: string[] }).enum
    expect(names.length).to.be.greaterThan(30)
    expect(names.filter((name) => !page.includes(`\`${name}\``))).to.deep.equal([])
  })
})

describe('the page of settings', () => {
  it('has the settings as they are', () => {
    const text = readFileSync(join(root, 'docs/settings.md'), 'utf8')
    const section = /<!-- settings -->\n([\s\S]*?)<!-- \/settings -->/.exec(text)?.[1] ?? ''
    expect(cellsOf(section)).to.deep.equal(cellsOf(settingsTable()))
  })
})

describe('the recipes', () => {
  const pages = read('docs/recipes/*.md')
  const blocks = pages.flatMap(({ name, text }) =>
    [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language, code = '']) => {
      return { name, language, code }
    }),
  )

  it('are linked from the page on clients', () => {
    const clients = readFileSync(join(root, 'docs/clients.md'), 'utf8')
    const names = pages.map(({ name }) => name.slice('docs/'.length))
    expect(names.length).to.be.greaterThan(7)
    expect(names.filter((name) => !clients.includes(`](${name})`))).to.deep.equal([])
  })

  it('have JSON and YAML that parse', () => {
    const parsed = blocks
      .filter(({ language }) => language === 'json' || language === 'yaml')
      .map(
        ({ language, code }) => (language === 'json' ? JSON.parse(code) : parse(code)) as unknown,
      )
    expect(parsed.length).to.be.greaterThan(4)
    for (const one of parsed) expect(one).to.be.an('object').and.not.be.empty
  })

  it('name the address of the OpenAI-compatible API or of the tool server', () => {
    const addressed = blocks.map(({ name, code }) => {
      const found = code.matchAll(/https?:\/\/(?:gateway\.example|127\.0\.0\.1:8080)([^\s"']*)/g)
      return { name, paths: [...found].map(([, path = '']) => path) }
    })
    for (const { name } of pages) {
      const paths = addressed.filter((one) => one.name === name).flatMap((one) => one.paths)
      expect(paths, name).to.not.be.empty
      for (const path of paths) expect(path, name).to.be.oneOf(['/v1', '/mcp'])
    }
  })

  it('name active models of the catalog', () => {
    const named = blocks.flatMap(({ code }) =>
      [...code.matchAll(/\b(?:gpt|qwen|claude|gemini)-[\w.-]*\d[\w-]*/g)].map(([model]) => model),
    )
    const rows = readCatalogRows().filter(({ status }) => status === 'active')
    const known = new Set(rows.map(({ id }) => id.slice(id.indexOf('/') + 1)))
    expect(named.length).to.be.greaterThan(5)
    expect(named.filter((model) => !known.has(model))).to.deep.equal([])
  })
})

/** Names and texts of the files that match a pattern. */
function read(pattern: string): { name: string; text: string }[] {
  return globSync(pattern, { cwd: root })
    .filter((name) => name !== self)
    .map((name) => ({ name, text: readFileSync(join(root, name), 'utf8') }))
}

/** The citations in a text, such as `page.md#section`. */
function citationsIn(text: string): string[] {
  return [...text.matchAll(/(?<![\w/.-])[\w./-]*\w\.md(?:#[\w-]+)?/g)].map(([cited]) => cited)
}

/** Whether the cited page exists and has the cited section, by the anchors of GitHub. */
function isHeading(cited: string, from: string): boolean {
  const [path = '', section] = cited.split('#')
  const found = [path, join(dirname(from), path)].find((one) => existsSync(join(root, one)))
  if (found === undefined || section === undefined) return found !== undefined
  const headings = [...readFileSync(join(root, found), 'utf8').matchAll(/^#+ (.+)$/gm)].map(
    ([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
  )
  return headings.includes(section)
}

/** The cells of a Markdown table, without the padding of columns. */
function cellsOf(table: string): string[] {
  return table
    .split('\n')
    .map((line) =>
      line
        .replaceAll(/\s*\|\s*/g, '|')
        .replaceAll(/-+/g, '-')
        .trim(),
    )
    .filter((line) => line !== '')
}
