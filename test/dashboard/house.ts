import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import ts from 'typescript'
import { projectFolder } from '../support/folder.ts'
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
} from '../support/source-files.ts'

const source = readSource('dashboard/src/**/*.{ts,tsx}')
const styles = globSync('dashboard/src/**/*.css', { cwd: projectFolder }).map(readText)

/** Layers of the dashboard, lowest first. Each layer imports only from lower layers. */
const layers = ['data', 'elements', 'pages', 'layout', 'app.tsx', 'main.tsx']
const packages = new Set([
  'preact',
  'preact/hooks',
  '@preact/signals',
  'openapi-fetch',
  'yaml',
  'marked',
])
/** Ways to interpret a text as HTML. They are forbidden, because texts may come from attackers. */
const marks = /\b(innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|srcdoc)\b/
const programs = /\beval\(|\bnew Function\b|\bdocument\.write\b|\bjavascript:/
// The host in code examples (RFC 2606), from which the page loads nothing.
const documentation = new Set<string>(['https://example.com'])

describe('the source of the dashboard', () => {
  it('imports from lower layers only, and from the rest of the project only the contract', () => {
    const wrong = source.flatMap((file) => [
      ...filesImportedBy(file)
        .filter((target) => !isAllowed(file.name, target))
        .map((target) => `${file.name} -> ${target}`),
      ...importsOf(file)
        .filter((target) => !target.startsWith('.') && !packages.has(target))
        .map((target) => `${file.name} -> ${target}`),
    ])
    expect(wrong, `The layers, lowest first: ${layers.join(', ')}.`).to.deep.equal([])
    expect(circlesOf(source)).to.deep.equal([])
  })

  it('has no file of more than 300 lines and no function of more than 70', () => {
    const files = [...source, ...styles].filter(isLong).map(({ name }) => name)
    expect([...files, ...source.flatMap(longFunctionsOf)]).to.deep.equal([])
  })

  it('has meaningful file names, no default export and no any', () => {
    expect(poorNamesOf([...source, ...styles].map(({ name }) => name))).to.deep.equal([])
    expect(source.flatMap(looseExportsOf)).to.deep.equal([])
  })

  it('interprets no text as HTML or as code', () => {
    const texts = [...source, readText('dashboard/index.html')]
    const wrong = texts.flatMap(({ name, text }) =>
      [marks, programs]
        .flatMap((one) => one.exec(text)?.[0] ?? [])
        .map((found) => `${name}: ${found}`),
    )
    expect(wrong).to.deep.equal([])
  })

  it('has styles only in its style sheets', () => {
    const { text } = readText('dashboard/index.html')
    expect(text).not.to.match(/<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)/)
    const wrong = source.flatMap(({ name, tree }) =>
      nodesOf(tree)
        .filter(ts.isJsxAttribute)
        .filter((one) => one.name.getText() === 'style' && isText(one.initializer))
        .map((one) => `${name}: ${one.getText()}`),
    )
    expect(wrong).to.deep.equal([])
  })

  it('styles of a page match no element of another page, since they stay loaded', () => {
    const selectors = styles.flatMap(({ name, text }) =>
      [...text.replaceAll(/\/\*.*?\*\//gs, '').matchAll(/([^{}]+)\{/g)].flatMap(([, list]) =>
        list!.split(',').map((selector) => ({ name, selector: selector.trim() })),
      ),
    )
    const homes = new Map<string, Set<string>>()
    for (const { name, selector } of selectors) {
      for (const one of classesOf(selector)) homes.set(one, (homes.get(one) ?? new Set()).add(name))
    }
    const wrong = selectors
      .filter(({ name }) => locationOf(name)?.layer === 'pages')
      .filter(({ selector }) => !selector.startsWith('@'))
      .filter(({ selector }) => classesOf(selector).every((one) => homes.get(one)!.size > 1))
      .map(({ name, selector }) => `${name}: ${selector}`)
    expect(wrong, 'Each needs a class that no other style sheet has.').to.deep.equal([])
  })

  it('defines colours only in style/tokens.css', () => {
    const colours =
      /#[\da-f]{3,8}\b|\b(?:rgba?|hsla?|hwb|lab|lch|oklab|oklch|color|light-dark)\(|(?<=: [^;{}]*)\b(?:white|black|red|green|blue|gr[ae]y|orange|yellow|purple)\b(?![-\w])/gi
    const wrong = styles
      .filter(({ name }) => name !== 'dashboard/src/style/tokens.css')
      .flatMap(({ name, text }) =>
        [...text.replaceAll(/\/\*.*?\*\//gs, '').matchAll(colours)].map(
          ([one]) => `${name}: ${one}`,
        ),
      )
    expect(wrong).to.deep.equal([])
  })

  it('loads nothing from another host', () => {
    const ofScripts = source.flatMap(({ name, tree }) =>
      nodesOf(tree)
        .flatMap((node) =>
          ts.isStringLiteralLike(node) || ts.isTemplateLiteralToken(node) || ts.isJsxText(node)
            ? [...node.text.matchAll(/(?:https?|wss?):\/\/[\w.-]+\.[a-z]+/g)]
            : [],
        )
        .filter(([address]) => !documentation.has(address))
        .map(([address]) => `${name}: ${address}`),
    )
    const ofStyles = [...styles, readText('dashboard/index.html')].flatMap(({ name, text }) =>
      [...text.matchAll(/(?:https?:)?\/\/[\w.-]+\.[a-z]+|@import url/g)].map(
        ([one]) => `${name}: ${one}`,
      ),
    )
    expect([...ofScripts, ...ofStyles]).to.deep.equal([])
  })
})

function readText(name: string) {
  return { name, text: readFileSync(join(projectFolder, name), 'utf8') }
}

function classesOf(selector: string): string[] {
  return [...selector.matchAll(/\.([a-z][\w-]*)/gi)].map(([, name]) => name!)
}

function isText(value: ts.JsxAttributeValue | undefined): boolean {
  return value === undefined || ts.isStringLiteral(value)
}

function isAllowed(from: string, to: string): boolean {
  // types.ts has only types, which add no bytes to the page.
  if (to.startsWith('generated/')) return /^generated\/(client-values|types)\.ts$/.test(to)
  const [here, there] = [locationOf(from), locationOf(to)]
  if (here === undefined || there === undefined) return false
  if (to.endsWith('.css')) {
    const isOwn = here.layer === 'pages' && here.folder !== '' && here.folder === there.folder
    return isOwn || (here.layer === 'main.tsx' && there.layer === 'style')
  }
  if (here.layer !== there.layer) return layers.indexOf(there.layer) < layers.indexOf(here.layer)
  // Pages do not import each other; the list of pages imports all of them.
  return here.layer !== 'pages' || here.folder === '' || here.folder === there.folder
}

/** Layer and folder of a file of the dashboard; undefined for other files. */
function locationOf(name: string): { layer: string; folder: string } | undefined {
  const [, layer, folder = '', rest] =
    /^dashboard\/src\/([^/]+)(?:\/([^/]+))?(\/.+)?$/.exec(name) ?? []
  if (layer === undefined) return undefined
  return { layer, folder: rest === undefined ? '' : folder }
}
