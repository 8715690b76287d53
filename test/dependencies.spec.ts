import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { Validation } from '@cyclonedx/cyclonedx-library'
import { expect } from 'chai'
import { buildDashboard } from '../scripts/dashboard.ts'
import { billOfMaterials, specification } from '../scripts/dependencies/bill-of-materials.ts'
import { complaintsAbout, installedBundles } from '../scripts/dependencies/licences.ts'
import {
  bundledPackages,
  keptPackages,
  productionPackages,
  readJson,
  root,
  type LockedPackage,
} from '../scripts/dependencies/production.ts'

// The cast is needed, because the package has no types.
const { satisfies } = createRequire(import.meta.url)('semver') as {
  satisfies: (version: string, range: string) => boolean
}

type Project = {
  license: string
  engines: { node: string }
  dependencies: Record<string, string>
  optionalDependencies: Record<string, string>
  devDependencies: Record<string, string>
}
type Bom = {
  metadata: { component: { name: string; 'bom-ref': string } }
  components: { 'bom-ref': string; purl: string; hashes: object[]; licenses: object[] }[]
  dependencies: { ref: string; dependsOn?: string[] }[]
}

const production = productionPackages()
const kept = keptPackages()
const bundled = bundledPackages()
const locked = readJson<{ packages: Record<string, LockedPackage> }>('package-lock.json').packages
const project = readJson<Project>('package.json')
const nameOf = ({ name, version }: { name: string; version: string }) => `${name}@${version}`

describe('the packages that production installs', () => {
  it('run no script when they are installed', () => {
    const scripted = production.filter(({ hasInstallScript }) => hasInstallScript === true)
    expect(scripted.map(nameOf)).to.deep.equal([])
  })

  it('come from the registry alone, as they were when they were locked', () => {
    const wrong = Object.entries(locked)
      .filter(([path]) => path !== '')
      .filter(
        ([, { resolved = 'https://registry.npmjs.org/', integrity = '', link }]) =>
          link === true ||
          !resolved.startsWith('https://registry.npmjs.org/') ||
          !/^sha512-[\w+/]{86}==$/.test(integrity),
      )
    expect(wrong.map(([path]) => path)).to.deep.equal([])
  })

  it('are of one version each', () => {
    const { dependencies, optionalDependencies, devDependencies } = project
    const wrong = Object.entries({ ...dependencies, ...optionalDependencies, ...devDependencies })
      .filter(([, version]) => !/^(?:npm:[\w@/-]+@)?\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version))
      .map(([name]) => name)
    expect(wrong).to.deep.equal([])
  })

  it('run on every Node that the gateway runs on', () => {
    const oldest = `${/^>=(\d+)$/.exec(project.engines.node)![1]}.0.0`
    const wrong = production
      // Excludes optional packages, which npm does not install where they do not support the platform.
      .filter(({ optional }) => optional !== true)
      .filter(({ engines }) => !satisfies(oldest, engines?.['node'] ?? '*'))
      .map(nameOf)
    expect(wrong).to.deep.equal([])
  })

  it('report to nobody', () => {
    expect(Object.keys(locked).filter((path) => path.includes('scarf'))).to.deep.equal([])
  })

  it('have licences that are allowed, also what is inside them', () => {
    expect(complaintsAbout([...production, ...kept, ...bundled], installedBundles())).to.deep.equal(
      [],
    )
    expect(production.length).to.be.greaterThan(100)
  })

  it('have the licence in the lock file', () => {
    const wrong = production
      .filter(({ path }) => existsSync(join(root, path)))
      .filter(({ path, license }) => {
        const installed = readJson<{ license: string }>(join(path, 'package.json'))
        return installed.license !== license
      })
    expect(wrong.map(nameOf)).to.deep.equal([])
  })
})

describe('the licences', () => {
  const rows: [license: string | undefined, name: string, isAllowed: boolean][] = [
    ['MIT', 'one', true],
    ['(MIT OR GPL-3.0-only)', 'one', true],
    ['MIT AND ISC', 'one', true],
    ['MIT AND GPL-3.0-only', 'one', false],
    ['GPL-3.0-only', 'one', false],
    ['GPL-2.0-only OR AGPL-3.0-only', 'one', false],
    ['MIT AND (GPL-3.0-only OR ISC)', 'one', false],
    ['UNLICENSED', 'one', false],
    [undefined, 'one', false],
    ['LGPL-3.0-or-later', '@img/sharp-libvips-linux-x64', true],
    ['GPL-3.0-or-later', '@img/sharp-libvips-linux-x64', false],
    ['LGPL-3.0-or-later', 'one', false],
    ['LGPL-3.0-or-later', '@img/sharp-libvips', false],
  ]
  for (const [license, name, isAllowed] of rows) {
    it(`${isAllowed ? 'allow' : 'forbid'} ${license ?? 'none'} for ${name}`, () => {
      const one = { name, version: '1.0.0', ...(license === undefined ? {} : { license }) }
      expect(complaintsAbout([one])).to.have.length(isAllowed ? 0 : 1)
    })
  }

  it('forbid what is inside a binary and not known', () => {
    const bundle = (licence: string) => ({ in: 'libvips', libraries: [{ name: 'x264', licence }] })
    expect(complaintsAbout([], [bundle('MIT License')])).to.deep.equal([])
    expect(complaintsAbout([], [bundle('GPLv2')])).to.deep.equal(['x264, in libvips, has GPLv2.'])
    expect(complaintsAbout([], [{ in: 'libvips', libraries: [] }])).to.have.length(1)
  })

  it('let the gateway itself be used under its own', () => {
    const words = readFileSync(join(root, 'LICENSE'), 'utf8')
    expect(project.license).to.equal('MIT')
    expect(words).to.match(/^MIT License\n/)
  })
})

describe('the bill of materials', () => {
  const text = billOfMaterials()
  const { metadata, components, dependencies } = JSON.parse(text) as Bom
  const refs = components.map((component) => component['bom-ref'])

  it('is what CycloneDX says that it is', async () => {
    const validator = new Validation.JsonStrictValidator(specification.version)
    expect(await validator.validate(text)).to.equal(null)
  })

  it('is the same each time', () => {
    expect(billOfMaterials()).to.equal(text)
    expect(text).not.to.match(/serialNumber|timestamp/)
  })

  it('has all that production installs, keeps or sends to browsers, and nothing else', () => {
    const wanted = new Set([...production, ...kept, ...bundled].map(nameOf))
    expect(refs).to.have.members([...wanted])
    expect(refs).not.to.include(`mocha@${project.devDependencies['mocha']}`)
    for (const { purl, hashes, licenses } of components) {
      expect(purl).to.match(/^pkg:npm\/(%40[\w.-]+\/)?[\w.-]+@\d/)
      expect([hashes.length, licenses.length], purl).to.deep.equal([1, 1])
    }
  })

  it('lists the dependencies of each package, from the gateway on', () => {
    const needs = new Map(dependencies.map(({ ref, dependsOn = [] }) => [ref, dependsOn]))
    const reached = new Set<string>()
    const visit = (ref: string): void => {
      if (reached.has(ref)) return
      reached.add(ref)
      for (const need of needs.get(ref) ?? []) visit(need)
    }
    visit(metadata.component['bom-ref'])
    expect([...reached]).to.have.members([metadata.component['bom-ref'], ...refs])
  })
})

describe('what the dashboard holds of other packages', () => {
  it('is listed, with the notices of those packages', async () => {
    await buildDashboard()
    const notices = readFileSync(join(root, 'dashboard/dist/licences.txt'), 'utf8')
    const named = [...notices.matchAll(/^## (\S+) - (\S+) \((.+)\)$/gm)]
    expect(named.map(([, name, version]) => `${name}@${version}`)).to.have.members(
      [...bundled, ...kept.filter(({ folder }) => folder === 'third-party/figtree')].map(nameOf),
    )
    // Licences may have titles of their own.
    const [, ...texts] = notices.split(/^## (?=\S+ - \S+ \()/m)
    for (const text of texts) expect(text).to.match(/^Copyright/m)
  })
})

describe('what is kept of other packages', () => {
  it('is as it is there', () => {
    for (const { folder, sha256, name } of kept) {
      expect(Object.keys(sha256)).to.include('LICENSE')
      for (const [file, digest] of Object.entries(sha256)) {
        const bytes = readFileSync(join(root, folder, file))
        const found = createHash('sha256').update(bytes).digest('hex')
        expect(found, `${file} of ${name}`).to.equal(digest)
      }
    }
  })
})
