import type { Schemas } from '../../data/api.ts'
import { Table } from '../../elements/table.tsx'
import type { Entry } from './entries.ts'

/** Sizes of pictures that a model creates, and how many input pictures it accepts. */
export function Sizes({ entry: { model } }: { entry: Entry }) {
  const { image } = model
  if (image == null) return null
  const { size } = image
  const [least, most] = [image.reference_images_min, image.reference_images_max]
  return (
    <section class="card">
      <h2>Pictures</h2>
      <dl class="facts">
        <dt>Sizes</dt>
        <dd>{sizeText(size)}</dd>
        {size.sizes !== undefined && size.sizes.length > 0 && (
          <>
            <dt>{size.kind === 'free' ? 'Recommended' : 'These'}</dt>
            <dd>{size.sizes.join(', ')}</dd>
          </>
        )}
        {size.aspect_ratios !== undefined && (
          <>
            <dt>Aspect ratios</dt>
            <dd>{size.aspect_ratios.join(', ')}</dd>
          </>
        )}
        {size.size_classes !== undefined && (
          <>
            <dt>Size classes</dt>
            <dd>{size.size_classes.join(', ')}</dd>
          </>
        )}
        <dt>Input pictures</dt>
        <dd>{most === 0 ? 'none' : least === 0 ? `up to ${most}` : `${least} to ${most}`}</dd>
      </dl>
    </section>
  )
}

function sizeText({ kind, side_min: least, side_max: most }: Schemas['ImageSizeRule']): string {
  if (kind === 'none') return 'the model decides'
  if (kind === 'list') return 'only the listed ones; other sizes are scaled'
  if (kind === 'classes') return 'an aspect ratio at a size class'
  if (least === undefined || most === undefined) return 'any'
  return `any with sides from ${least} to ${most} pixels`
}

/** Parameters that a model accepts, with their values and bounds. */
export function Parameters({ entry: { parameters } }: { entry: Entry }) {
  if (parameters.length === 0) return null
  return (
    <section class="card">
      <h2>Parameters</h2>
      <Table label="Parameters" class="parameters" columns={['Name', 'Values']}>
        {parameters.map((parameter) => (
          <tr key={parameter.name}>
            <td>
              <code>{parameter.name}</code>
            </td>
            <td>{valuesText(parameter)}</td>
          </tr>
        ))}
      </Table>
    </section>
  )
}

function valuesText({ values, minimum, maximum }: Schemas['ModelParameter']): string {
  if (values !== undefined) return values.join(', ')
  const [least, most] = [minimum?.toLocaleString('en-US'), maximum?.toLocaleString('en-US')]
  if (least !== undefined && most !== undefined) return `${least} to ${most}`
  if (least !== undefined) return `at least ${least}`
  return most === undefined ? 'any' : `at most ${most}`
}
