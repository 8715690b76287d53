import { sql } from 'kysely'
import { createPictureFiles, type PictureFileStore } from '../../src/accounts/picture-files.ts'
import { createPictureLinks, pictureLinkKeyBytes } from '../../src/accounts/picture-links.ts'
import { addingFiles } from '../../src/accounts/picture-rows.ts'
import { encodeBase64 } from '../../src/bytes/base64.ts'
import { uncounted } from '../../src/bytes/memory-budget.ts'
import type { PictureFile } from '../../src/core/picture-files.ts'
import type { Picture } from '../../src/core/image/image.ts'
import { createEncryption } from '../../src/storage/encryption.ts'
import { readGatewaySecret } from '../../src/storage/gateway-secret.ts'
import { createPictureFolder, type PicturePlace } from '../../src/storage/picture-folder.ts'
import type { GuardedStore } from '../../src/storage/store-guard.ts'
import { encryptionKey, suiteClock } from './gateway.ts'
import { pixelBytes } from './pixel.ts'

type Options = {
  store: GuardedStore
  dataDir: string
  /** By default the folder in `dataDir`. */
  place?: PicturePlace | undefined
  onFailure?: 'refuse' | 'answer'
  limits?: { pictureDays?: number; accountPictureBytesMax?: number }
  clock?: () => number
  monotonic?: () => number
  baseUrl?: string
  /** Collects the outcomes of background work. */
  reports?: [work: string, error?: unknown][]
}

/** The pictures of a store, as one of its processes has them. */
export async function openPictureFiles(options: Options): Promise<PictureFileStore> {
  const { store, dataDir, reports = [], baseUrl = 'http://gateway.test' } = options
  const { clock = suiteClock, monotonic = () => performance.now() } = options
  const key = (await readGatewaySecret(store.db)).keyFor('picture links', pictureLinkKeyBytes)
  return createPictureFiles({
    store,
    encryption: createEncryption({ dataDir, encryptionKey, databaseUrl: undefined }),
    links: createPictureLinks({ key, baseUrl, clock }),
    place:
      'place' in options ? options.place : createPictureFolder({ dataDir, durability: 'normal' }),
    onFailure: options.onFailure ?? 'refuse',
    limits: () => ({ pictureDays: 7, accountPictureBytesMax: 2 ** 30, ...options.limits }),
    clock,
    monotonic,
    events: { worked: (work, error) => void reports.push([work, error]) },
  })
}

type Job = { accountId: string; mode: 'live' | 'test'; id: string }

/** Stores a picture with its file, as the end of a job does. */
export async function putFile(
  {
    files,
    store,
    clock = suiteClock,
  }: { files: PictureFileStore } & Pick<Options, 'store' | 'clock'>,
  job: Job,
  picture: Pick<Picture, 'base64' | 'format'>,
): Promise<PictureFile> {
  const file = await files.put(job.accountId, picture, uncounted)
  const adding = addingFiles(job, [file], clock(), sql`1 = 1`)
  await store.commit(adding.map((one) => one.compile(store.db)))
  return file
}

/** A picture as a vendor's answer has it: PNG, with `text` behind its end. */
export function pictureOf(text: string | Buffer): { base64: Buffer[]; format: 'png' } {
  return { base64: encodeBase64([Buffer.concat([pixelBytes, Buffer.from(text)])]), format: 'png' }
}

export function bytesOf({ base64 }: Pick<ReturnType<typeof pictureOf>, 'base64'>): Buffer {
  return Buffer.from(Buffer.concat(base64).toString('latin1'), 'base64')
}
