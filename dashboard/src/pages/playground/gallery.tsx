import { addressOf, place } from '../../data/place.ts'
import type { Attempt } from './attempts.ts'
import { dragged, forgetAll, gallery, type MadePicture } from './gallery-store.ts'

type Props = { picture: MadePicture; onEdit: (picture: Blob) => void }

/** A picture with buttons for downloading and editing it. */
export function Picture({ picture, onEdit }: Props) {
  const { url, prompt, blob, id } = picture
  const ending = blob.type.slice('image/'.length).replace('+xml', '')
  const image = <img src={url} alt={prompt.slice(0, 200) || 'A picture'} loading="lazy" />
  // As a page of its own, with the origin of the dashboard, a vector picture could run scripts.
  const isVector = ending === 'svg'
  return (
    <figure
      class="picture"
      onDragStart={() => (dragged.value = isVector ? undefined : blob)}
      onDragEnd={() => (dragged.value = undefined)}
    >
      {isVector ? (
        image
      ) : (
        <a href={url} target="_blank" rel="noreferrer">
          {image}
        </a>
      )}
      <figcaption class="row">
        <a class="button plain small" href={url} download={`picture-${id}.${ending}`}>
          Download
        </a>
        {!isVector && (
          <button type="button" class="plain small" onClick={() => onEdit(blob)}>
            Edit this
          </button>
        )}
      </figcaption>
    </figure>
  )
}

type GalleryProps = Pick<Props, 'onEdit'> & { attempts: readonly Attempt[] }

/** Pictures created in this visit before those of the attempts. */
export function Gallery({ attempts, onEdit }: GalleryProps) {
  const shown = new Set(attempts.flatMap((one) => (one.state === 'made' ? one.made.pictures : [])))
  const pictures = gallery.value.filter((one) => !shown.has(one))
  if (pictures.length === 0) return null
  return (
    <section class="card">
      <div class="head">
        <h2>Created in this visit</h2>
        <button type="button" class="plain small" onClick={forgetAll}>
          Clear
        </button>
      </div>
      <p class="quiet">
        This tab keeps them until it is closed, newest first. Those that the gateway stores are on
        the page{' '}
        <a href={addressOf('/pictures', { mode: place.value.query.get('mode') ?? undefined })}>
          Pictures
        </a>
        .
      </p>
      <div class="gallery">
        {pictures.map((picture) => (
          <Picture key={picture.id} picture={picture} onEdit={onEdit} />
        ))}
      </div>
    </section>
  )
}
