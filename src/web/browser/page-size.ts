// The page size that the user chose last, stored on this device.

import { PAGE_LIMIT } from '../../animal.ts'
import { deviceValue } from './browser-storage.ts'

const stored = deviceValue('animal-store-page-size')

export function rememberedPageSize(): number {
  const size = Number(stored.load())
  const isValid = Number.isInteger(size) && size >= PAGE_LIMIT.minimum && size <= PAGE_LIMIT.maximum
  return isValid ? size : PAGE_LIMIT.default
}

export function rememberPageSize(size: string): void {
  stored.save(size)
}
