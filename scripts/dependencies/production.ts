import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export const root = join(import.meta.dirname, '../..')

/** What a lock file tells of a package (docs.npmjs.com, package-lock.json). */
export type LockedPackage = {
  version: string
  /** Absent where it is the registry's own address of this name and version. */
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
  /** Where npm puts it; the same version may be in several places. */
  path: string
  /** Paths of the packages that it asks for, as far as they are there. */
  needs: readonly string[]
}

/** Files of a package that are kept in this repository instead of being installed. */
export type KeptPackage = {
  name: string
  version: string
  license: string
  integrity: string
  sha256: Record<string, string>
  folder: string
}

const keptFolders = ['third-party/swagger-ui', 'src/providers/sandbox/font']

/** What of the development's packages the dashboard's files hold, which browsers are sent. */
const bundled = ['preact', '@preact/signals', '@preact/signals-core', 'openapi-fetch']

type Lock = { packages: Record<string, LockedPackage> }

/** Every package of the lock file that production may install, on whichever platform, by its path. */
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

/** The packages that the gateway itself asks for, by path. */
export function directNeeds(): readonly string[] {
  return needsOf('', readJson<Lock>('package-lock.json').packages)
}

/** What is kept in this repository of other packages, with where it is from. */
export function keptPackages(): KeptPackage[] {
  return keptFolders.map((folder) => ({
    ...readJson<Omit<KeptPackage, 'folder'>>(join(folder, 'origin.json')),
    folder,
  }))
}

/** The packages that are inside the files of the dashboard. */
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

/** Where Node finds a package: in the nearest node_modules on the way up. */
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
