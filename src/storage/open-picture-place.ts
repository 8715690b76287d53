import { createPictureFolder } from './picture-folder.ts'
import type { PicturePlace } from './picture-place.ts'

type Options = {
  config: {
    dataDir: string
    pictureBucket: string | undefined
    pictureBucketRegion: string | undefined
  }
  secrets: {
    databaseUrl: string | undefined
    pictureBucketAccessKeyId: string | undefined
    pictureBucketSecretAccessKey: string | undefined
  }
}

/** The bucket, or else the folder of an embedded store; undefined for replicas, which share no folder. */
export async function openPicturePlace({
  config,
  secrets,
}: Options): Promise<PicturePlace | undefined> {
  const { dataDir } = config
  return secrets.databaseUrl === undefined ? createPictureFolder(dataDir) : undefined
}
