import { execFileSync } from 'node:child_process'
import {
  chownSync,
  cpSync,
  existsSync,
  globSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { DockerfileParser, type Copy, type Env, type JSONInstruction } from 'dockerfile-ast'
import { projectFolder } from '../folder.ts'

/** How a container of the image starts. Paths are inside the image. */
export type ReplayedImage = {
  /** The folder that represents `/`. */
  root: string
  workingFolder: string
  variables: Record<string, string>
  /** Entry point and command. */
  command: string[]
  healthCheck: string[]
  stopSignal: NodeJS.Signals
  volumes: string[]
  user: { uid: number; gid: number }
}

type Stage = Omit<ReplayedImage, 'command'> & { entryPoint: string[]; command: string[] }

const runTimeoutMs = 300_000
const source = join(projectFolder, 'deploy/Dockerfile')
// oxlint-disable-next-line no-template-curly-in-string
const nodeImage = '${NODE_IMAGE}'

/**
 * Executes the Dockerfile's instructions in `folder`, without a container: the same commands and copies, with
 * a folder as the root of each stage. The Node image is replaced by the running Node binary; the base image
 * is empty.
 */
export function replayImage(folder: string): ReplayedImage {
  return replay(folder)
}

/** Reads from the Dockerfile how its image is run; copies and runs nothing. */
export function readImage(): ReplayedImage {
  return replay(undefined)
}

function replay(folder: string | undefined): ReplayedImage {
  const stages: Stage[] = []
  const names = new Map<string, Stage>()
  for (const instruction of DockerfileParser.parse(
    readFileSync(source, 'utf8'),
  ).getInstructions()) {
    const keyword = instruction.getKeyword()
    const words = instruction.getArguments().map((argument) => argument.getValue())
    const stage = stages.at(-1)
    if (keyword === 'ARG') continue
    if (keyword === 'FROM') {
      const next = emptyStage(folder === undefined ? '/' : join(folder, String(stages.length)))
      if (folder !== undefined) mkdirSync(next.root, { recursive: true })
      if (folder !== undefined && words[0] === nodeImage) addNode(next.root)
      stages.push(next)
      if (words[2] !== undefined) names.set(words[2], next)
      continue
    }
    if (stage === undefined) throw new Error(`${keyword} stands before FROM.`)
    // The cast is safe: the parser selects the class of an instruction by its keyword.
    const json = () => (instruction as JSONInstruction).getJSONStrings().map(unquoted)
    if (keyword === 'WORKDIR') stage.workingFolder = words[0]!
    if (keyword === 'WORKDIR' || keyword === 'RUN' || keyword === 'COPY') {
      if (folder === undefined) continue
      mkdirSync(join(stage.root, stage.workingFolder), { recursive: true })
      if (keyword === 'RUN') run(stage, instruction.getRawArgumentsContent() ?? '')
      if (keyword === 'COPY') copy(stage, instruction as Copy, words, names)
    } else if (keyword === 'ENV') {
      for (const property of (instruction as Env).getProperties())
        stage.variables[property.getName()] = property.getValue() ?? ''
    } else if (keyword === 'USER') {
      const [uid = NaN, gid = NaN] = words[0]!.split(':').map(Number)
      stage.user = { uid, gid }
    } else if (keyword === 'VOLUME') stage.volumes.push(...json())
    else if (keyword === 'STOPSIGNAL') stage.stopSignal = words[0] as NodeJS.Signals
    else if (keyword === 'ENTRYPOINT') stage.entryPoint = json()
    else if (keyword === 'CMD') stage.command = json()
    else if (keyword === 'HEALTHCHECK')
      stage.healthCheck = JSON.parse(/\[.*\]/.exec(instruction.getArgumentsContent()!)![0])
    else if (keyword !== 'EXPOSE') throw new Error(`${keyword} is not replayed.`)
  }
  const { entryPoint, command, ...last } = stages.at(-1)!
  return { ...last, command: [...entryPoint, ...command] }
}

function emptyStage(root: string): Stage {
  return {
    root,
    workingFolder: '/',
    variables: {},
    entryPoint: [],
    command: [],
    healthCheck: [],
    stopSignal: 'SIGTERM',
    volumes: [],
    user: { uid: 0, gid: 0 },
  }
}

/** Copies the parts of the Node image that the build uses. */
function addNode(root: string): void {
  mkdirSync(join(root, 'usr/local/bin'), { recursive: true })
  cpSync(process.execPath, join(root, 'usr/local/bin/node'), { dereference: true })
  cpSync(join(projectFolder, 'LICENSE'), join(root, 'usr/local/LICENSE'))
}

function run({ root, workingFolder }: Stage, command: string): void {
  if (/(^|\s)\//.test(command))
    throw new Error(`A path of the image cannot be replayed: ${command}`)
  if (command === 'npm ci') {
    // Links the project's node_modules, which contain the packages that this command would install.
    symlinkSync(join(projectFolder, 'node_modules'), join(root, workingFolder, 'node_modules'))
    return
  }
  const { PATH, HOME } = process.env
  execFileSync('sh', ['-c', command], {
    cwd: join(root, workingFolder),
    // Use npm's cache before the network.
    env: { PATH, HOME, npm_config_prefer_offline: 'true' },
    stdio: 'pipe',
    timeout: runTimeoutMs,
  })
}

function copy(stage: Stage, instruction: Copy, words: string[], stages: Map<string, Stage>): void {
  const flags = new Map(
    instruction.getFlags().map((flag) => [flag.getName(), flag.getValue() ?? '']),
  )
  const from = flags.get('from')
  if (from === undefined) words.slice(0, -1).forEach(expectInContext)
  const context = from === undefined ? projectFolder : stages.get(from)!.root
  const to = words.at(-1)!
  const target = to.startsWith('/')
    ? join(stage.root, to)
    : join(stage.root, stage.workingFolder, to)
  for (const word of words.slice(0, -1)) {
    const path = join(context, word)
    if (statSync(path).isDirectory()) cpSync(path, target, { recursive: true })
    else if (to.endsWith('/')) copyFile(path, join(target, basename(path)))
    else copyFile(path, target)
  }
  const [uid, gid] = (flags.get('chown') ?? '').split(':').map(Number)
  if (uid !== undefined && gid !== undefined && process.getuid?.() === 0)
    chownSync(target, uid, gid)
}

function copyFile(path: string, target: string): void {
  mkdirSync(dirname(target), { recursive: true })
  // All stages are on one file system, so files are linked instead of copied.
  if (path.startsWith(projectFolder)) cpSync(path, target)
  else linkSync(path, target)
}

/** Throws for a file that .dockerignore excludes from the build context. */
function expectInContext(path: string): void {
  const lines = readFileSync(join(projectFolder, '.dockerignore'), 'utf8').split('\n')
  if (!lines.includes(`!${path}`)) throw new Error(`.dockerignore leaves ${path} out.`)
  if (!existsSync(join(projectFolder, path))) throw new Error(`${path} does not exist.`)
}

function unquoted(argument: { getJSONValue(): string }): string {
  return argument.getJSONValue()
}

/** Converts a path inside the image to its path on this machine; returns other words unchanged. */
export function placed(word: string, { root }: ReplayedImage): string {
  return word.startsWith('/') && existsSync(join(root, word)) ? join(root, word) : word
}

/** Total size of the files of a folder, in bytes. */
export function bytesIn(folder: string): number {
  const paths = globSync('**/*', { cwd: folder }).concat(globSync('**/.*', { cwd: folder }))
  return [...new Set(paths)]
    .map((path) => lstatSync(join(folder, path)))
    .reduce((sum, stats) => sum + (stats.isFile() ? stats.size : 0), 0)
}
