import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export const root = join(import.meta.dirname, '../..')

/** A package of the lock file (docs.npmjs.com, package-lock.json). */
export type LockedPackage = {
  version: string
  /** URL of the archive; absent for the registry's default URL of this version. */
  resolved?: string
  integrity?: string
  license?: string
  dev?: boolean
  optional?: boolean
  devOptional?: boolean
  hasInstallScript?: boolean
  link?: boolean
  engines?: Record<string, string>
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
}

export type ProductionPackage = LockedPackage & {
  name: string
  /** The folder of the package; the same version may be in several folders. */
  path: string
  /** Paths of the package's dependencies that are in the lock file. */
  needs: readonly string[]
}

/** A package whose files are in this repository, so that npm does not install it. */
export type KeptPackage = {
  name: string
  version: string
  license: string
  integrity: string
  sha256: Record<string, string>
  folder: string
}

const keptFolders = ['third-party/figtree', 'src/providers/sandbox/font']

/** Packages that are bundled in the dashboard's files for browsers. */
const bundled = [
  'preact',
  '@preact/signals',
  '@preact/signals-core',
  'openapi-fetch',
  'yaml',
  'marked',
]

type Lock = { packages: Record<string, LockedPackage> }

/** Each package of the lock file that production installs on any platform, sorted by path. */
export function productionPackages(): ProductionPackage[] {
  const { packages } = readJson<Lock>('package-lock.json')
  return Object.entries(packages)
    .filter(([path, { dev }]) => path !== '' && dev !== true)
    .map(([path, locked]) => ({
      ...locked,
      name: path.replace(/^.*node_modules\//, ''),
      path,
      needs: needsOf(path, packages),
    }))
}

/** Paths of the gateway's direct dependencies. */
export function directNeeds(): readonly string[] {
  return needsOf('', readJson<Lock>('package-lock.json').packages)
}

/** The packages in this repository, from their origin.json. */
export function keptPackages(): KeptPackage[] {
  return keptFolders.map((folder) => ({
    ...readJson<Omit<KeptPackage, 'folder'>>(join(folder, 'origin.json')),
    folder,
  }))
}

/** The packages that are bundled in the dashboard. */
export function bundledPackages(): (LockedPackage & { name: string })[] {
  const { packages } = readJson<Lock>('package-lock.json')
  return bundled.map((name) => ({ name, ...packages[`node_modules/${name}`]! }))
}

export function readJson<Content>(path: string): Content {
  return JSON.parse(readFileSync(join(root, path), 'utf8')) as Content
}

function needsOf(path: string, packages: Lock['packages']): string[] {
  const { dependencies, optionalDependencies, peerDependencies } = packages[path]!
  const names = Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })
  return names.flatMap((name) => {
    const found = foundFrom(path, name, packages)
    return found === undefined || packages[found]!.dev === true ? [] : [found]
  })
}

/** The path where Node finds a package that `path` imports: in the nearest node_modules folder above. */
function foundFrom(path: string, name: string, packages: Lock['packages']): string | undefined {
  for (let at: string | undefined = path; at !== undefined; at = above(at)) {
    const candidate = at === '' ? `node_modules/${name}` : `${at}/node_modules/${name}`
    if (candidate in packages) return candidate
  }
  return undefined
}

function above(path: string): string | undefined {
  if (path === '') return undefined
  return path.slice(0, Math.max(0, path.lastIndexOf('/node_modules/')))
}
