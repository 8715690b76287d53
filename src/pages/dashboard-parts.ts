import { existsSync, readFileSync } from 'node:fs'

/** What Vite tells of a file that it has made, by the source that it is of. */
type Made = { file: string; css?: string[]; imports?: string[] }
type Manifest = Readonly<Record<string, Made>>

const source = /^src\/pages\/([\w-]+)\/index\.tsx$/

/**
 * The headers by which a browser loads the files of a page of the dashboard together with its frame, by the first part
 * of the page's path. None where the manifest of the build is not there.
 */
export function preloadsByPage(built: URL): ReadonlyMap<string, { link: string }> {
  const manifestFile = new URL('manifest.json', built)
  if (!existsSync(manifestFile)) return new Map()
  // Written by Vite.
  const manifest = JSON.parse(readFileSync(manifestFile, 'utf8')) as Manifest
  const frame = readFileSync(new URL('index.html', built), 'utf8')
  return new Map(
    Object.keys(manifest).flatMap((name) => {
      const page = source.exec(name)?.[1]
      if (page === undefined) return []
      const files = [...filesOf(manifest, name)].filter((file) => !frame.includes(file))
      return [[page, { link: files.map(preloadOf).join(', ') }]]
    }),
  )
}

/** What has to be there before a file can run, itself included. */
function filesOf(manifest: Manifest, name: string, found = new Set<string>()): Set<string> {
  const { file, css = [], imports = [] } = manifest[name]!
  if (found.has(file)) return found
  for (const one of [file, ...css]) found.add(one)
  for (const one of imports) filesOf(manifest, one, found)
  return found
}

/** As the script itself asks for it, so that it is loaded once. */
function preloadOf(file: string): string {
  const kind = file.endsWith('.css') ? 'preload; as=style; crossorigin' : 'modulepreload'
  return `</dashboard/${file}>; rel=${kind}`
}
