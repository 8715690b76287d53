import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { settingsTable } from '../src/settings/settings-table.ts'

const root = join(import.meta.dirname, '..')
// This file is excluded, because its examples and patterns are not citations.
const self = 'test/documents.spec.ts'

describe('the documents', () => {
  it('have each page and section that is cited', () => {
    const wrong = read('{*.{md,yaml,json},{docs,src,test,scripts}/**/*.{md,ts}}').flatMap(
      ({ name, text }) =>
        citationsIn(text)
          .filter((cited) => !isHeading(cited, name))
          .map((cited) => `${name}: ${cited}`),
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

describe('the walk of one request', () => {
  const page = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8')
  const walk = /## The walk of one request\n([\s\S]*?)\n## /.exec(page)![1]!
  const rows = walk.split('\n').filter((line) => line.startsWith('| `'))

  it('passes files that are there', () => {
    const wrong = [...rows, ...walk.split('\n\n').slice(-1)].flatMap((row) => {
      const names = [...row.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)
      const folders = ['', ...names.filter((name) => name.endsWith('/'))]
      return names.filter(
        (name) =>
          !name.endsWith('/') &&
          !folders.some((folder) => existsSync(join(root, 'src', folder, `${name}.ts`))),
      )
    })
    expect(rows.length).to.be.greaterThan(10)
    expect(wrong).to.deep.equal([])
  })

  it('enters no folder a third time', () => {
    for (const table of walk.split(/\n\n(?=\|)/)) {
      const entered = table.split('\n').flatMap((line) => {
        const [, first = ''] = /^\| (`[^|]+) \|/.exec(line) ?? []
        return [...first.matchAll(/`([^`]+\/)`/g)].map(([, folder = '']) => folder)
      })
      for (const folder of entered) {
        expect(entered.filter((one) => one === folder).length, folder).to.be.at.most(2)
      }
    }
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

describe('the page of settings', () => {
  it('has the settings as they are', () => {
    const text = readFileSync(join(root, 'docs/settings.md'), 'utf8')
    const section = /<!-- settings -->\n([\s\S]*?)<!-- \/settings -->/.exec(text)?.[1] ?? ''
    expect(cellsOf(section)).to.deep.equal(cellsOf(settingsTable()))
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
  return [...text.matchAll(/(?<![\w/.-])[\w./-]*\.md(?:#[\w-]+)?/g)].map(([cited]) => cited)
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
