import { createPictureFolder, type PicturePlace } from './picture-folder.ts'

type Options = {
  config: {
    dataDir: string
    durability: 'normal' | 'full'
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
  const { pictureBucket: address, pictureBucketRegion: region } = config
  const { pictureBucketAccessKeyId: accessKeyId, pictureBucketSecretAccessKey: secretAccessKey } =
    secrets
  if (address === undefined || accessKeyId === undefined || secretAccessKey === undefined)
    return secrets.databaseUrl === undefined ? createPictureFolder(config) : undefined
  // The signer is loaded only if a bucket is set.
  const { createPictureBucket } = await import('./picture-bucket.ts')
  return createPictureBucket({ address, region, accessKeyId, secretAccessKey })
}
